// SPDX-License-Identifier: Apache-2.0
// tests/sim/sim_main.cc: the program sim_test: runs the simulation once per seed, and can print a
// trace of one seed to show why it failed.
#include <glog/logging.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "base/arguments.h"
#include "tests/sim/world.h"

namespace hat::sim {
namespace {

// The number of seeds that ctest runs. It is kSeedsOfRelease in a release build, and less in slower
// builds.
constexpr uint64_t kSeeds = HAT_SIM_SEEDS;
constexpr uint64_t kSeedsOfRelease = 1000;

constexpr const char* kUsage =
    R"(usage: sim_test [--seeds N] [--from SEED]     seeds SEED … SEED+N-1
       sim_test --seed SEED [--trace]          one seed; --trace prints every event
       sim_test --canaries                     mistakes made on purpose must be found
)";

struct Options {
  uint64_t from = 1;
  uint64_t count = kSeeds;
  bool trace = false;
  bool canaries = false;
  Action action = Action::kRun;
};

Result<Options> parse_options(const std::vector<std::string>& arguments) {
  Options options;
  Arguments parser("sim_test");
  parser.option("--seeds", read_number(options.count));
  parser.option("--from", read_number(options.from, uint64_t{0}));
  parser.option("--seed", [&options](const std::string& seed) {
    options.count = 1;
    return read_number(options.from, uint64_t{0})(seed);
  });
  parser.flag("--trace", options.trace);
  parser.flag("--canaries", options.canaries);
  HAT_TRY(options.action, parser.parse(arguments));
  return options;
}

// Runs each of kScenarios seeds twice, beginning with the seed `from`. Returns how many of them
// took a different path in the second run: a failure of such a seed cannot be replayed.
uint64_t count_wanderers(uint64_t from) {
  uint64_t wanderers = 0;
  for (uint64_t seed = from; seed < from + kScenarios; ++seed) {
    const uint64_t path = World(seed, Canary::kNone, false).run().fingerprint;
    if (World(seed, Canary::kNone, false).run().fingerprint == path) continue;
    std::printf("seed %llu ran differently the second time, so its failures cannot be replayed\n",
                static_cast<unsigned long long>(seed));
    ++wanderers;
  }
  return wanderers;
}

int run_seeds(const Options& options) {
  if (options.count == kSeeds && kSeeds < kSeedsOfRelease) {
    std::printf("a sanitized or debug build: %llu seeds in place of a release build's %llu\n",
                static_cast<unsigned long long>(kSeeds),
                static_cast<unsigned long long>(kSeedsOfRelease));
  }
  const auto start = std::chrono::steady_clock::now();
  Verdict sum;
  uint64_t failed = 0;
  for (uint64_t seed = options.from; seed < options.from + options.count; ++seed) {
    const Verdict verdict = World(seed, Canary::kNone, options.trace).run();
    sum.calls += verdict.calls;
    sum.replies += verdict.replies;
    sum.exceptions += verdict.exceptions;
    sum.by_rdma += verdict.by_rdma;
    sum.trials += verdict.trials;
    sum.retries += verdict.retries;
    sum.resumes += verdict.resumes;
    sum.events += verdict.events;
    if (verdict.broken.empty()) continue;
    ++failed;
    std::printf("seed %llu (%s): %s\n  replay: sim_test --seed %llu --trace\n",
                static_cast<unsigned long long>(seed), kScenarioNames[seed % kScenarios],
                verdict.broken.c_str(), static_cast<unsigned long long>(seed));
    std::fflush(stdout);
  }
  failed += count_wanderers(options.from);
  if (options.count >= kScenarios && sum.by_rdma < sum.calls / 10) {
    std::printf("hardly a call went by RDMA: the lanes were not tried\n");
    ++failed;
  }
  if (options.count >= kScenarios && sum.trials < options.count / kScenarios) {
    std::printf("hardly a choice was tried: learned plans were not tested\n");
    ++failed;
  }
  if (options.count >= kSeedsOfRelease && sum.retries < options.count / kScenarios) {
    std::printf("hardly a call was sent again: retries were not tested\n");
    ++failed;
  }
  // Streams that continue only if no frame was lost are a tenth of the seeds; the others have sent
  // the requests that were lost again.
  if (options.count >= kSeedsOfRelease && sum.resumes < options.count / 5) {
    std::printf("hardly a stream continued after the loss of its lane: resumes were not tested\n");
    ++failed;
  }
  const auto took = std::chrono::steady_clock::now() - start;
  std::printf(
      "%llu seeds from %llu: %llu failed; %llu calls, %llu by RDMA, %llu trials, %llu retries, "
      "%llu resumes, %llu replies, %llu exceptions, %llu events, %.1f s\n",
      static_cast<unsigned long long>(options.count), static_cast<unsigned long long>(options.from),
      static_cast<unsigned long long>(failed), static_cast<unsigned long long>(sum.calls),
      static_cast<unsigned long long>(sum.by_rdma), static_cast<unsigned long long>(sum.trials),
      static_cast<unsigned long long>(sum.retries), static_cast<unsigned long long>(sum.resumes),
      static_cast<unsigned long long>(sum.replies), static_cast<unsigned long long>(sum.exceptions),
      static_cast<unsigned long long>(sum.events), std::chrono::duration<double>(took).count());
  return failed == 0 ? 0 : 1;
}

// Runs each canary with several seeds, because a run can lack the situation that its mistake needs.
// Returns the exit status: 0 if the simulation found each canary.
int run_canaries(bool trace) {
  constexpr uint64_t kSeedsOfACanary = 20;
  int missed = 0;
  for (const auto& [canary, name] : kCanaries) {
    std::string found;
    for (uint64_t seed = 1; seed <= kSeedsOfACanary && found.empty(); ++seed) {
      found = World(seed, canary, trace).run().broken;
    }
    std::printf("%s: %s\n", name, found.empty() ? "NOT FOUND" : found.c_str());
    if (found.empty()) ++missed;
  }
  return missed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace hat::sim

int main(int argc, char** argv) {
  const auto options = hat::sim::parse_options({argv + 1, argv + argc});
  if (!options) {
    std::fprintf(stderr, "sim_test: %s\n%s", options.error().message.c_str(), hat::sim::kUsage);
    return 2;
  }
  if (options->action != hat::Action::kRun) return std::fputs(hat::sim::kUsage, stdout) < 0;
  google::InitGoogleLogging(argv[0]);
  FLAGS_logtostderr = true;
  // The daemons log each of the thousands of links that break here. Without --trace, only fatal
  // errors are logged.
  FLAGS_minloglevel = options->trace ? google::INFO : google::FATAL;
  return options->canaries ? hat::sim::run_canaries(options->trace) : hat::sim::run_seeds(*options);
}
