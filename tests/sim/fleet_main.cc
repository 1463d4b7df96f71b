// SPDX-License-Identifier: Apache-2.0
// tests/sim/fleet_main.cc: the program fleet_sim: simulates many daemons and prints how long, in
// simulated time, they take to follow changes.
#include <glog/logging.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "base/arguments.h"
#include "tests/sim/fleet.h"

namespace hat::sim {
namespace {

constexpr const char* kUsage =
    R"(usage: fleet_sim [--nodes N] [--peers N] [--seed SEED] [--within MS]

Simulates a fleet of daemons, and prints how long it takes to follow changes.

  --nodes N     the number of nodes (default 100)
  --peers N     the peers that each node calls (default 20)
  --seed SEED   the same seed gives the same run (default 1)
  --within MS   fail if a step takes longer than this simulated time (default 10000)

Example: fleet_sim --nodes 1000
)";

struct Options {
  FleetPlan plan;
  uint64_t within_ms = 10'000;
  Action action = Action::kRun;
};

Result<Options> parse_options(const std::vector<std::string>& arguments) {
  constexpr size_t kNodesMax = 10'000;
  Options options;
  Arguments parser("fleet_sim");
  parser.option("--nodes", read_number(options.plan.nodes, size_t{3}, kNodesMax));
  parser.option("--peers", read_number(options.plan.peers, size_t{1}, kNodesMax));
  parser.option("--seed", read_number(options.plan.seed, uint64_t{0}));
  parser.option("--within", read_number(options.within_ms));
  HAT_TRY(options.action, parser.parse(arguments));
  if (options.action == Action::kRun && options.plan.peers + 2 > options.plan.nodes) {
    return fail(ErrorCode::kInvalid, "--peers must be at most --nodes minus 2");
  }
  return options;
}

double ms(Duration time) { return std::chrono::duration<double, std::milli>(time).count(); }

int run(const Options& options) {
  const auto begin = std::chrono::steady_clock::now();
  Fleet fleet(options.plan);
  int status = 0;
  std::printf("%zu nodes, %zu peers each\n\n%-62s %9s %9s %7s\n", options.plan.nodes,
              options.plan.peers, "simulated time in ms, until", "half", "all", "failed");
  for (const FleetStep& step : fleet.run()) {
    std::printf("%-62s %9.1f %9.1f %7llu\n", step.name.c_str(), ms(step.half), ms(step.all),
                static_cast<unsigned long long>(step.failed_calls));
    if (ms(step.all) > static_cast<double>(options.within_ms)) status = 1;
  }
  std::printf("\nlinks of an ordinary node: %zu; links to the hot node: %zu\n",
              fleet.links_of_an_ordinary_node(), fleet.links_of_the_hot_node());
  std::printf("%llu events, %.1f s\n", static_cast<unsigned long long>(fleet.events()),
              std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  if (status != 0) std::printf("a step took longer than --within\n");
  if (fleet.broken().empty()) return status;
  std::printf("broken: %s\n", fleet.broken().c_str());
  return 1;
}

}  // namespace
}  // namespace hat::sim

int main(int argc, char** argv) {
  const auto options = hat::sim::parse_options({argv + 1, argv + argc});
  if (!options) {
    std::fprintf(stderr, "fleet_sim: %s\n%s", options.error().message.c_str(), hat::sim::kUsage);
    return 2;
  }
  if (options->action != hat::Action::kRun) return std::fputs(hat::sim::kUsage, stdout) < 0;
  google::InitGoogleLogging(argv[0]);
  FLAGS_logtostderr = true;
  FLAGS_minloglevel = google::FATAL;  // the daemons log each link
  return hat::sim::run(*options);
}
