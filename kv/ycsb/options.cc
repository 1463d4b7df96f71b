// SPDX-License-Identifier: Apache-2.0
#include "kv/ycsb/options.h"

#include <cmath>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "kv/words.h"
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

constexpr const char* kDefaultAddress = "tcp:127.0.0.1:9091";
constexpr double kSecondsMax = 1e6;

// The command line's contents, before the workload is read.
struct Given {
  Options options;
  Properties properties;
  std::vector<std::string> assignments;  // take precedence over all files, in any order
  bool has_file = false;
  double seconds = 0;
};

Result<void> read_file(Given& given, std::string_view, std::string_view path) {
  given.has_file = true;
  return given.properties.read_file(std::string(path));
}

Result<void> keep_assignment(Given& given, std::string_view, std::string_view assignment) {
  given.assignments.emplace_back(assignment);
  return {};
}

Result<void> keep_threads(Given& given, std::string_view, std::string_view threads) {
  given.assignments.push_back("threadcount=" + std::string(threads));
  return {};
}

Result<void> read_seconds(std::string_view name, std::string_view word, double& into) {
  const auto number = parse_number<double>(word);
  if (!number || !(*number > 0) || *number > kSecondsMax) {
    return wrong_word(name, word, "a number of seconds, at most a million");
  }
  into = *number;
  return {};
}

constexpr Option<Given> kOptions[] = {
    {"-P", true, read_file},
    {"-p", true, keep_assignment},
    {"--threads", true, keep_threads},
    {"--connect", true,
     [](Given& given, std::string_view name, std::string_view word) {
       return read_word(name, word, given.options.address);
     }},
    {"--seconds", true,
     [](Given& given, std::string_view name, std::string_view word) {
       return read_seconds(name, word, given.seconds);
     }},
    {"--warm-up", true,
     [](Given& given, std::string_view name, std::string_view word) {
       return read_seconds(name, word, given.options.warm_up_seconds);
     }},
    {"--seed", true,
     [](Given& given, std::string_view name, std::string_view word) {
       return read_word(name, word, given.options.seed);
     }},
    {"--json", false,
     [](Given& given, std::string_view, std::string_view) -> Result<void> {
       given.options.json = true;
       return {};
     }},
};

}  // namespace

Result<Command> parse_options(std::span<const std::string_view> words) {
  for (const std::string_view word : words) {
    if (word == "--help" || word == "-h") return HelpWanted{};
    if (word == "--version") return VersionWanted{};
  }
  Given given;
  Options& options = given.options;
  const char* from_environment = std::getenv("HATKV_ADDRESS");
  const bool is_set = from_environment != nullptr && *from_environment != '\0';
  HAT_TRY_VOID(
      read_word("HATKV_ADDRESS", is_set ? from_environment : kDefaultAddress, options.address));
  HAT_TRY(const auto rest, parse_words<Given>(words, kOptions, given));
  if (rest.size() != 1 || (rest[0] != "load" && rest[0] != "run")) {
    std::string found;
    for (const std::string_view word : rest) found.append(found.empty() ? "" : " ").append(word);
    return wrong_word("command", found, "load or run");
  }
  options.load = rest[0] == "load";
  if (!given.has_file) return fail("-P is missing: name a workload file");
  for (const std::string& assignment : given.assignments) {
    HAT_TRY_VOID(given.properties.set(assignment));
  }
  HAT_TRY(options.workload, read_workload(given.properties));
  options.unknown_keys = unknown_keys(given.properties);
  if (given.seconds > 0) options.workload.seconds = given.seconds;
  return std::move(options);
}

}  // namespace hat::ycsb
