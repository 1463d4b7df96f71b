#include "kv/ycsb/options.h"

#include <cmath>
#include <string_view>
#include <vector>

#include "base/number.h"
#include "kv/ycsb/properties.h"

namespace hat::ycsb {

const char* const kHelp =
    R"(hatkv-ycsb: YCSB's workloads on HatKV, from native clients.

usage: hatkv-ycsb load|run --address ADDRESS -P FILE [options]

  load                puts the records that the workload wants
  run                 makes its operations
  --address ADDRESS   of HatKV or of a hatrpcd's endpoint: tcp:HOST:PORT, unix:/PATH, shm:/PATH
  -P FILE             a workload file of YCSB's; may be repeated, later ones win
  -p KEY=VALUE        one property more; wins over the files
  --threads N         clients at once, each with a connection of its own (threadcount)
  --seconds S         ends the run after so long (maxexecutiontime); may be a fraction
  --warm-up S         runs so long before it counts
  --seed N            draws the same keys and operations as the last run with N
  --json              one JSON object instead of YCSB's lines
  --help, --version

Reads and updates are get and put, multi-reads and multi-updates (multireadproportion,
multiupdateproportion) multiget and multiput. Exit status 1 where any operation failed, 2 for a
wrong command line or workload.

examples:
  hatkv-ycsb load --address tcp:127.0.0.1:9091 -P kv/ycsb/workloads/a
  hatkv-ycsb run --address shm:/run/hatrpcd/kv.ring -P kv/ycsb/workloads/a --threads 16
)";

namespace {

constexpr std::string_view kHint = " (hatkv-ycsb --help lists all options)";

std::unexpected<Error> wrong(std::string_view option, std::string_view found,
                             std::string_view expected) {
  return fail(std::string(option) + ": found '" + std::string(found) + "', expected " +
              std::string(expected) + std::string(kHint));
}

// What the command line says, before the workload is read.
struct Words {
  Options options;
  Properties properties;
  bool address_given = false;
  bool file_given = false;
  double seconds = 0;
};

Result<double> read_seconds(std::string_view option, std::string_view word) {
  const auto number = parse_number<double>(word);
  if (!number || !std::isfinite(*number) || *number <= 0) return wrong(option, word, "seconds");
  return *number;
}

Result<void> take_value(std::string_view option, std::string_view word, Words& words) {
  if (option == "--address") {
    auto address = parse_address(word);
    if (!address) return std::unexpected(in("--address", std::move(address.error())));
    words.options.address = std::move(*address);
    words.address_given = true;
  } else if (option == "-P") {
    HAT_TRY_VOID(words.properties.read_file(std::string(word)));
    words.file_given = true;
  } else if (option == "--seconds") {
    HAT_TRY(words.seconds, read_seconds(option, word));
  } else if (option == "--warm-up") {
    HAT_TRY(words.options.warm_up_seconds, read_seconds(option, word));
  } else if (option == "--seed") {
    const auto seed = parse_number<uint64_t>(word);
    if (!seed || *seed == 0) return wrong(option, word, "a number from 1");
    words.options.seed = *seed;
  } else {
    return fail("unknown option '" + std::string(option) + "'" + std::string(kHint));
  }
  return {};
}

Result<Command> finish(Words& words) {
  Options& options = words.options;
  if (!words.address_given) return fail("--address is missing" + std::string(kHint));
  if (!words.file_given) return fail("-P is missing: which workload?" + std::string(kHint));
  HAT_TRY(options.workload, read_workload(words.properties));
  options.unknown_keys = unknown_keys(words.properties);
  if (words.seconds > 0) options.workload.seconds = words.seconds;
  return std::move(options);
}

}  // namespace

Result<Command> parse_options(int argc, char** argv) {
  const std::vector<std::string_view> given(argv + 1, argv + argc);
  for (const std::string_view word : given) {
    if (word == "--help" || word == "-h") return HelpWanted{};
    if (word == "--version") return VersionWanted{};
  }
  if (given.empty() || (given[0] != "load" && given[0] != "run")) {
    return wrong("first word", given.empty() ? "" : given[0], "load or run");
  }
  Words words;
  words.options.load = given[0] == "load";
  std::vector<std::string> assignments;  // after all files, wherever they stand
  for (size_t i = 1; i < given.size(); ++i) {
    const std::string_view option = given[i];
    if (option == "--json") {
      words.options.json = true;
      continue;
    }
    const std::string_view word = i + 1 < given.size() ? given[++i] : std::string_view();
    if (option == "-p") {
      assignments.emplace_back(word);
    } else if (option == "--threads") {
      assignments.push_back("threadcount=" + std::string(word));
    } else {
      HAT_TRY_VOID(take_value(option, word, words));
    }
  }
  for (const std::string& assignment : assignments) {
    HAT_TRY_VOID(words.properties.set(assignment));
  }
  return finish(words);
}

}  // namespace hat::ycsb
