// SPDX-License-Identifier: Apache-2.0
#include "bench/atb/options.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string_view>

#include "base/number.h"
#include "config/hint_values.h"

namespace hat::atb {
namespace {

using Word = const std::string&;

constexpr unsigned of(Command command) { return 1u << static_cast<unsigned>(command); }
constexpr unsigned kServer = of(Command::kServer);
constexpr unsigned kLatency = of(Command::kLatency);
constexpr unsigned kThroughput = of(Command::kThroughput);
constexpr unsigned kMix = of(Command::kMix);
constexpr unsigned kMany = kThroughput | kMix;
constexpr unsigned kLoads = kLatency | kMany;

// Each `take` function sets one field and returns nullptr, or returns a description of what it
// expected.
using Expected = const char*;

Expected take_bytes(Word word, uint32_t& bytes) {
  const auto found = parse_bytes(word);
  if (!found || *found > kPayloadBytesMax) return "bytes up to 8MiB, such as 512 or 128KiB";
  bytes = static_cast<uint32_t>(*found);
  return nullptr;
}

template <class Number>
Expected take_number(Word word, Number& number, Number least, Number most, Expected expected) {
  const auto found = parse_number<Number>(word);
  if (!found || !(*found >= least && *found <= most)) return expected;
  number = *found;
  return nullptr;
}

Expected take_count(Word word, uint32_t& count) {
  return take_number(word, count, 1u, 4096u, "a number from 1 to 4096");
}

Expected take_seconds(Word word, double& seconds) {
  return take_number(word, seconds, 0.0, 86400.0, "seconds, from 0 to 86400");
}

struct Row {
  unsigned commands;
  std::string_view name;
  std::string_view value;
  std::string_view help;
  Expected (*take)(Options&, Word);
};

constexpr std::array kRows = {
    Row{kServer, "--clients", "N", "concurrent connections; others wait (default: 1024)",
        [](Options& o, Word w) { return take_count(w, o.clients_max); }},
    Row{kLatency, "--min", "BYTES", "the smallest payload of call and reply (default: 4)",
        [](Options& o, Word w) { return take_bytes(w, o.min_bytes); }},
    Row{kLatency, "--max", "BYTES", "the largest payload (default: 512KiB)",
        [](Options& o, Word w) { return take_bytes(w, o.max_bytes); }},
    Row{kLatency, "--factor", "N", "ratio of a payload to the one before (default: 2)",
        [](Options& o, Word w) {
          return take_number(w, o.factor, 2u, 1024u, "a number from 2 to 1024");
        }},
    Row{kThroughput, "--size", "BYTES", "the payload of call and reply (default: 512)",
        [](Options& o, Word w) {
          const auto expected = take_bytes(w, o.throughput.request_bytes);
          o.throughput.answer_bytes = o.throughput.request_bytes;
          return expected;
        }},
    Row{kMix, "--latency-request-size", "BYTES", "payload of a `latency` call (default: 512)",
        [](Options& o, Word w) { return take_bytes(w, o.latency.request_bytes); }},
    Row{kMix, "--latency-answer-size", "BYTES", "payload of its reply (default: 512)",
        [](Options& o, Word w) { return take_bytes(w, o.latency.answer_bytes); }},
    Row{kMix, "--throughput-request-size", "BYTES", "payload of a `throughput` call (default: 512)",
        [](Options& o, Word w) { return take_bytes(w, o.throughput.request_bytes); }},
    Row{kMix, "--throughput-answer-size", "BYTES", "payload of its reply (default: 512)",
        [](Options& o, Word w) { return take_bytes(w, o.throughput.answer_bytes); }},
    Row{kMix, "--latency-percent", "N",
        "percentage of `latency` calls, drawn at random (default: 50)",
        [](Options& o, Word w) {
          return take_number(w, o.latency_percent, 0u, 100u, "a number from 0 to 100");
        }},
    Row{kMany, "--threads", "N", "clients per process, one thread each (default: 1)",
        [](Options& o, Word w) { return take_count(w, o.threads); }},
    Row{kMany, "--processes", "N", "processes with --threads clients each (default: 1)",
        [](Options& o, Word w) { return take_count(w, o.processes); }},
    Row{kLoads, "--iterations", "N", "maximum calls of a client; 0: no limit",
        [](Options& o, Word w) {
          return take_number(w, o.iterations, uint64_t{0}, std::numeric_limits<uint64_t>::max(),
                             "a number from 0");
        }},
    Row{kLoads, "--seconds", "S", "maximum time of a measurement; 0: no limit (default: 5)",
        [](Options& o, Word w) { return take_seconds(w, o.seconds); }},
    Row{kLoads, "--warm-up", "S", "time before the measurement that is not counted (default: 0.5)",
        [](Options& o, Word w) { return take_seconds(w, o.warm_up); }},
    Row{kLoads, "--timeout", "S", "how long a reply may take (default: 30)",
        [](Options& o, Word w) {
          return take_number(w, o.timeout, 1u, 3600u, "a number from 1 to 3600");
        }},
};

struct CommandRow {
  std::string_view name;
  std::string_view what;
  std::string_view example;
};

// The order is that of Command.
constexpr std::array kCommands = {
    CommandRow{"server",
               "serves the other commands; prints `listening on ADDRESS` when it is ready",
               "atb server 127.0.0.1:9090"},
    CommandRow{"latency", "one client: time of a call for each payload (Figure 11)",
               "atb latency 127.0.0.1:9090 --min 4 --max 512KiB --iterations 10000"},
    CommandRow{"throughput", "many clients: calls per second (Figure 12)",
               "atb throughput 127.0.0.1:9090 --size 128KiB --processes 4 --threads 16"},
    CommandRow{"mix", "many clients, two functions at random (Figures 13 and 14)",
               "atb mix 127.0.0.1:9090 --threads 16 --latency-percent 50"},
};

std::string padded(std::string text, size_t width) {
  text.resize(std::max(width, text.size() + 1), ' ');
  return text;
}

std::string general_help() {
  std::string text =
      "atb: the Apache Thrift Benchmarks of HatRPC (SC'21), with stock Thrift clients and "
      "servers.\n"
      "\nusage: atb COMMAND ADDRESS [options]\n\n";
  for (const auto& row : kCommands) {
    text += "  " + padded(std::string(row.name), 12) + std::string(row.what) + "\n";
  }
  text +=
      "\nADDRESS is PORT or HOST:PORT, /PATH of a unix socket, or shm:/PATH of rings; tcp:HOST:PORT"
      "\nand unix:/PATH, as in hatrpcd.yaml, also work. A server takes a free port for port "
      "0.\n"
      "\nexamples:\n";
  for (const auto& row : kCommands) text += "  " + std::string(row.example) + "\n";
  return text +
         "\n`atb COMMAND --help` lists the command's options. Exit status: 0 done, 1 could not"
         "\nmeasure (no connection, no answer), 2 wrong options, 3 an answer was wrong.\n";
}

std::string command_help(Command command) {
  const auto& row = kCommands[static_cast<size_t>(command)];
  std::string text = "atb " + std::string(row.name) + ": " + std::string(row.what) +
                     ".\n\nusage: atb " + std::string(row.name) + " ADDRESS [options]\n\n";
  for (const auto& option : kRows) {
    if ((option.commands & of(command)) == 0) continue;
    text += "  " + padded(std::string(option.name) + " " + std::string(option.value), 34) +
            std::string(option.help) + "\n";
  }
  if (command == Command::kLatency) text += "\nThe default of --iterations is 10000 for latency.\n";
  if (command != Command::kServer)
    text += "  " + padded("--json", 34) + "print JSON instead of a table\n";
  return text + "\nexample:\n  " + std::string(row.example) + "\n";
}

std::unexpected<Error> wrong(Word option, const std::string& what) {
  return fail(option + " " + what + " (see atb --help, atb COMMAND --help)");
}

Result<Address> address_of(Word word) {
  if (word.starts_with('/')) return parse_address("unix:" + word);
  if (word.starts_with("unix:") || word.starts_with("shm:") || word.starts_with("tcp:")) {
    return parse_address(word);
  }
  return parse_address((word.find(':') == std::string::npos ? "tcp:127.0.0.1:" : "tcp:") + word);
}

std::optional<Command> command_of(Word word) {
  for (size_t i = 0; i < kCommands.size(); ++i) {
    if (kCommands[i].name == word) return static_cast<Command>(i);
  }
  return std::nullopt;
}

const Row* row_of(Word name, Command command) {
  for (const auto& row : kRows) {
    if (row.name == name && (row.commands & of(command)) != 0) return &row;
  }
  return nullptr;
}

Result<void> check(const Options& options) {
  if (options.command == Command::kServer) return {};
  if (options.iterations == 0 && options.seconds == 0) {
    return fail("--iterations 0 and --seconds 0: set one of them, so that the measurement ends");
  }
  if (options.min_bytes > options.max_bytes) {
    return fail("--min " + std::to_string(options.min_bytes) + " is above --max " +
                std::to_string(options.max_bytes));
  }
  return {};
}

}  // namespace

Result<std::variant<Options, Help>> parse_options(const std::vector<std::string>& words) {
  if (words.empty()) return fail("a command is missing: server, latency, throughput or mix");
  if (words[0] == "--help" || words[0] == "-h") return Help{general_help()};
  const auto command = command_of(words[0]);
  if (!command) return wrong("'" + words[0] + "'", "is not a command");
  Options options;
  options.command = *command;
  options.seconds = 5;
  if (*command == Command::kLatency) options.iterations = 10000;

  bool address_given = false;
  for (size_t i = 1; i < words.size(); ++i) {
    const size_t equals = words[i].starts_with("--") ? words[i].find('=') : std::string::npos;
    const std::string name = words[i].substr(0, equals);
    if (name == "--help" || name == "-h") return Help{command_help(*command)};
    if (name == "--json" && *command != Command::kServer) {
      options.json = true;
    } else if (!name.starts_with('-') && !address_given) {
      HAT_TRY(options.address, address_of(name));
      address_given = true;
    } else if (const Row* row = row_of(name, *command)) {
      if (equals == std::string::npos && i + 1 == words.size()) return wrong(name, "needs a value");
      const std::string value =
          equals == std::string::npos ? words[++i] : words[i].substr(equals + 1);
      if (const auto expected = row->take(options, value)) {
        return wrong(name, "'" + value + "': expected " + expected);
      }
    } else {
      return wrong("'" + words[i] + "'", "is not an option of atb " + words[0]);
    }
  }
  if (!address_given) return wrong("ADDRESS", "is missing");
  HAT_TRY_VOID(check(options));
  return options;
}

std::vector<uint32_t> payload_sizes(const Options& options) {
  std::vector<uint32_t> sizes;
  uint64_t size = options.min_bytes;
  for (; size < options.max_bytes; size = std::max<uint64_t>(size * options.factor, 1)) {
    sizes.push_back(static_cast<uint32_t>(size));
  }
  sizes.push_back(options.max_bytes);
  return sizes;
}

}  // namespace hat::atb
