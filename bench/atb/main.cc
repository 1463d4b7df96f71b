// SPDX-License-Identifier: Apache-2.0
// bench/atb/main.cc: the program atb (Apache Thrift Benchmarks): runs the server or a measurement.
#include <cstdio>
#include <string>
#include <vector>

#include "bench/atb/report.h"
#include "bench/atb/server.h"

namespace hat::atb {
namespace {

int complain(const std::string& message, Exit exit) {
  std::fprintf(stderr, "atb: %s\n", message.c_str());
  return static_cast<int>(exit);
}

// Returns the loads that a command measures, in this order.
std::vector<Load> loads_of(const Options& options) {
  std::vector<Load> loads;
  if (options.command == Command::kLatency) {
    for (const uint32_t bytes : payload_sizes(options)) {
      loads.push_back({.options = options, .latency = {bytes, bytes}, .latency_percent = 100});
    }
  } else if (options.command == Command::kThroughput) {
    loads.push_back({.options = options, .throughput = options.throughput, .latency_percent = 0});
  } else {
    loads.push_back({options, options.latency, options.throughput, options.latency_percent});
  }
  return loads;
}

void add_to(Report& report, const Load& load, const LoadResult& result) {
  for (const auto function : {Function::kLatency, Function::kThroughput}) {
    const bool latency = function == Function::kLatency;
    if (load.latency_percent == (latency ? 0 : 100)) continue;
    report.lines.push_back({function, latency ? load.latency : load.throughput, result.seconds,
                            result.measured.functions[static_cast<size_t>(function)]});
  }
  report.loads.push_back({result.measured.account, result.seconds});
}

int measure(const Options& options) {
  Report report{.options = options};
  for (const Load& load : loads_of(options)) {
    const auto result = run_load(load);
    if (!result) return complain(result.error().message, result.error().exit);
    add_to(report, load, *result);
  }
  std::fputs((options.json ? to_json(report) : to_table(report)).c_str(), stdout);
  return static_cast<int>(Exit::kDone);
}

}  // namespace
}  // namespace hat::atb

int main(int argc, char** argv) {
  using namespace hat::atb;
  const auto parsed = parse_options({argv + 1, argv + argc});
  if (!parsed) {
    return complain(parsed.error().message + " (see atb --help, atb COMMAND --help)", Exit::kUsage);
  }
  const Options& options = *parsed;
  if (options.action == hat::Action::kShowHelp) {
    std::fputs(options.help.c_str(), stdout);
    return static_cast<int>(Exit::kDone);
  }
  if (options.action == hat::Action::kShowVersion) {
    std::puts("atb " HAT_VERSION);
    return static_cast<int>(Exit::kDone);
  }
  if (options.command != Command::kServer) return measure(options);
  const auto served = serve(options);
  return served ? static_cast<int>(Exit::kDone)
                : complain(served.error().message, Exit::kCannotMeasure);
}
