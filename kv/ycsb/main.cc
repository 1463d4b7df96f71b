// SPDX-License-Identifier: Apache-2.0
// kv/ycsb/main.cc: the program hatkv-ycsb: loads HatKV or runs a YCSB workload on HatKV, and prints
// the results.
#include <cstdio>
#include <cstdlib>
#include <random>

#include "kv/ycsb/driver.h"
#include "kv/ycsb/options.h"
#include "kv/ycsb/report.h"

namespace hat::ycsb {
namespace {

constexpr int kExitUsage = 2;

int complain(const std::string& message, int exit_code) {
  std::fprintf(stderr, "hatkv-ycsb: %s\n", message.c_str());
  return exit_code;
}

int run_command(const Options& options) {
  for (const std::string& key : options.unknown_keys) {
    std::fprintf(stderr, "hatkv-ycsb: '%s' is not a property of YCSB's core: it has no effect\n",
                 key.c_str());
  }
  const uint64_t seed = options.seed != 0 ? options.seed : std::random_device()();
  const auto results = options.load
                           ? load(options.workload, options.address, seed)
                           : run(options.workload, options.address, seed, options.warm_up_seconds);
  if (!results) return complain(results.error().message, EXIT_FAILURE);
  const std::string text =
      options.json ? as_json(*results, options.workload.threads) : as_text(*results);
  std::fputs(text.c_str(), stdout);
  // Any failed operation makes the exit status 1, even during the warm-up.
  if (results->first_failure) return complain(results->first_failure->message, EXIT_FAILURE);
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace hat::ycsb

int main(int argc, char** argv) {
  const auto options = hat::ycsb::parse_options({argv + 1, argv + argc});
  if (!options) {
    return hat::ycsb::complain(options.error().message + " (see hatkv-ycsb --help)",
                               hat::ycsb::kExitUsage);
  }
  if (options->action == hat::Action::kShowHelp) {
    std::fputs(hat::ycsb::kHelp, stdout);
    return EXIT_SUCCESS;
  }
  if (options->action == hat::Action::kShowVersion) {
    std::puts("hatkv-ycsb " HAT_VERSION);
    return EXIT_SUCCESS;
  }
  return hat::ycsb::run_command(*options);
}
