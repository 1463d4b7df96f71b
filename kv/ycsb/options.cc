// SPDX-License-Identifier: Apache-2.0
#include "kv/ycsb/options.h"

#include <utility>
#include <vector>

#include "kv/server_address.h"
#include "kv/ycsb/properties.h"

namespace hat::ycsb {

const char* const kHelp =
    R"(hatkv-ycsb: runs YCSB's workloads on HatKV, with native clients.

usage: hatkv-ycsb load|run -P FILE [options]

  load                puts the records of the workload
  run                 performs the operations of the workload
  -P FILE             a YCSB workload file; may be repeated, and later files override earlier ones
  -p KEY=VALUE        sets one property; overrides the files
  --connect ADDRESS   the server, or the endpoint of a hatrpcd that leads to it: tcp:HOST:PORT,
                      unix:/PATH or shm:/PATH; default $HATKV_ADDRESS, else tcp:127.0.0.1:9091
  --threads N         concurrent clients, each with its own connection (threadcount)
  --seconds S         ends the run after S seconds (maxexecutiontime); S may be a fraction
  --warm-up S         runs for S seconds before it measures
  --seed N            draws the same keys and operations as every run with the same N
  --json              prints one JSON object instead of YCSB's lines
  --help, --version

Reads and updates call get and put; multi-reads and multi-updates (multireadproportion,
multiupdateproportion) call multiget and multiput. The exit status is 1 if an operation failed,
and 2 if the command line or the workload is wrong.

examples:
  hatkv-ycsb load -P kv/ycsb/workloads/a --threads 8
  hatkv-ycsb run -P kv/ycsb/workloads/a --threads 16 --connect shm:/run/hatrpcd/kv.ring
)";

namespace {

constexpr double kSecondsMin = 0.001;
constexpr double kSecondsMax = 1e6;

// The command line, as it was parsed before the workload is read.
struct Given {
  Properties properties;
  std::vector<std::string> assignments;  // from -p; they override values from files
  bool has_file = false;
  double seconds = 0;
};

Arguments::Read seconds(double& into) {
  return read_number(into, kSecondsMin, kSecondsMax, "seconds");
}

void declare(Arguments& parser, Options& options, Given& given) {
  parser.option("-P", [&given](const std::string& path) {
    given.has_file = true;
    return given.properties.read_file(path);
  });
  const auto assign = [&given](std::string assignment) -> Result<void> {
    given.assignments.push_back(std::move(assignment));
    return {};
  };
  parser.option("-p", assign);
  parser.option("--threads",
                [assign](const std::string& threads) { return assign("threadcount=" + threads); });
  parser.option("--connect", read_address(options.address));
  parser.option("--seconds", seconds(given.seconds));
  parser.option("--warm-up", seconds(options.warm_up_seconds));
  parser.option("--seed", read_number(options.seed));
  parser.flag("--json", options.json);
  parser.command("load");
  parser.command("run");
}

}  // namespace

Result<Options> parse_options(const std::vector<std::string>& arguments) {
  Options options;
  HAT_TRY(options.address, default_server_address());
  Given given;
  Arguments parser("hatkv-ycsb");
  declare(parser, options, given);
  HAT_TRY(options.action, parser.parse(arguments));
  if (options.action != Action::kRun) return options;
  options.load = parser.chosen_command() == "load";
  if (!given.has_file) return fail(ErrorCode::kInvalid, "-P is missing: name a workload file");
  for (const std::string& assignment : given.assignments) {
    HAT_TRY_VOID(given.properties.set(assignment));
  }
  HAT_TRY(options.workload, read_workload(given.properties));
  options.unknown_keys = unknown_keys(given.properties);
  if (given.seconds > 0) options.workload.seconds = given.seconds;
  return options;
}

}  // namespace hat::ycsb
