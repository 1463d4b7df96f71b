// SPDX-License-Identifier: Apache-2.0
#include "bench/atb/options.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "config/hint_values.h"

namespace hat::atb {
namespace {

constexpr unsigned of(Command command) { return 1u << static_cast<unsigned>(command); }
constexpr unsigned kServer = of(Command::kServer);
constexpr unsigned kLatency = of(Command::kLatency);
constexpr unsigned kThroughput = of(Command::kThroughput);
constexpr unsigned kMix = of(Command::kMix);
constexpr unsigned kMany = kThroughput | kMix;
constexpr unsigned kLoads = kLatency | kMany;

Arguments::Read bytes(uint32_t& into) {
  return [&into](const std::string& value) -> Result<void> {
    const auto found = parse_bytes(value);
    if (!found || *found > kPayloadBytesMax) {
      return unexpected_value(value, "bytes up to 8MiB, such as 512 or 128KiB");
    }
    into = static_cast<uint32_t>(*found);
    return {};
  };
}

Arguments::Read count(uint32_t& into) { return read_number(into, 1u, 4096u); }

Arguments::Read seconds(double& into) { return read_number(into, 0.0, 86400.0, "seconds"); }

struct Row {
  unsigned commands;
  std::string_view name;
  std::string_view value;
  std::string_view help;
  Arguments::Read (*read)(Options&);
};

constexpr std::array kRows = {
    Row{kServer, "--clients", "N", "concurrent connections; others wait (default: 1024)",
        [](Options& o) { return count(o.clients_max); }},
    Row{kLatency, "--min", "BYTES", "the smallest payload of call and reply (default: 4)",
        [](Options& o) { return bytes(o.min_bytes); }},
    Row{kLatency, "--max", "BYTES", "the largest payload (default: 512KiB)",
        [](Options& o) { return bytes(o.max_bytes); }},
    Row{kLatency, "--factor", "N", "ratio of a payload to the one before (default: 2)",
        [](Options& o) { return read_number(o.factor, 2u, 1024u); }},
    Row{kThroughput, "--size", "BYTES", "the payload of call and reply (default: 512)",
        [](Options& o) { return bytes(o.throughput.request_bytes); }},
    Row{kMix, "--latency-request-size", "BYTES", "payload of a `latency` call (default: 512)",
        [](Options& o) { return bytes(o.latency.request_bytes); }},
    Row{kMix, "--latency-answer-size", "BYTES", "payload of its reply (default: 512)",
        [](Options& o) { return bytes(o.latency.answer_bytes); }},
    Row{kMix, "--throughput-request-size", "BYTES", "payload of a `throughput` call (default: 512)",
        [](Options& o) { return bytes(o.throughput.request_bytes); }},
    Row{kMix, "--throughput-answer-size", "BYTES", "payload of its reply (default: 512)",
        [](Options& o) { return bytes(o.throughput.answer_bytes); }},
    Row{kMix, "--latency-percent", "N",
        "percentage of `latency` calls, drawn at random (default: 50)",
        [](Options& o) { return read_number(o.latency_percent, 0u, 100u); }},
    Row{kMany, "--threads", "N", "clients per process, one thread each (default: 1)",
        [](Options& o) { return count(o.threads); }},
    Row{kMany, "--processes", "N", "processes with --threads clients each (default: 1)",
        [](Options& o) { return count(o.processes); }},
    Row{kLoads, "--iterations", "N", "maximum calls of a client; 0: no limit",
        [](Options& o) { return read_number(o.iterations, uint64_t{0}); }},
    Row{kLoads, "--seconds", "S", "maximum time of a measurement; 0: no limit (default: 5)",
        [](Options& o) { return seconds(o.seconds); }},
    Row{kLoads, "--warm-up", "S", "time before the measurement that is not counted (default: 0.5)",
        [](Options& o) { return seconds(o.warm_up); }},
    Row{kLoads, "--timeout", "S", "how long a reply may take (default: 30)",
        [](Options& o) { return read_number(o.timeout, 1u, 3600u); }},
};

struct CommandRow {
  std::string_view name;
  std::string_view what;
  std::string_view example;
};

// The commands, in the order of the enum Command.
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

Result<Address> address_of(const std::string& word) {
  if (word.starts_with('/')) return parse_address("unix:" + word);
  if (word.starts_with("unix:") || word.starts_with("shm:") || word.starts_with("tcp:")) {
    return parse_address(word);
  }
  return parse_address((word.find(':') == std::string::npos ? "tcp:127.0.0.1:" : "tcp:") + word);
}

void declare(Arguments& command, Options& options, std::vector<std::string>& addresses) {
  command.words("ADDRESS", 1, 1, addresses);
  for (const Row& row : kRows) {
    if ((row.commands & of(options.command)) == 0) continue;
    command.option(std::string(row.name), row.read(options));
  }
  if (options.command != Command::kServer) command.flag("--json", options.json);
}

Result<void> check(const Options& options) {
  if (options.command == Command::kServer) return {};
  if (options.iterations == 0 && options.seconds == 0) {
    return fail(ErrorCode::kInvalid,
                "--iterations 0 and --seconds 0: set one of them, so that the measurement ends");
  }
  if (options.min_bytes > options.max_bytes) {
    return fail(ErrorCode::kInvalid, "--min " + std::to_string(options.min_bytes) +
                                         " is above --max " + std::to_string(options.max_bytes));
  }
  return {};
}

}  // namespace

Result<Options> parse_options(const std::vector<std::string>& arguments) {
  std::array<Options, kCommands.size()> of_commands;
  std::vector<std::string> addresses;
  Arguments parser("atb");
  for (size_t i = 0; i < kCommands.size(); ++i) {
    Options& options = of_commands[i];
    options.command = static_cast<Command>(i);
    options.seconds = 5;
    if (options.command == Command::kLatency) options.iterations = 10000;
    declare(parser.command(std::string(kCommands[i].name)), options, addresses);
  }
  HAT_TRY(const Action action, parser.parse(arguments));
  const auto chosen = std::ranges::find(kCommands, parser.chosen_command(), &CommandRow::name);
  if (action != Action::kRun) {
    Options options;
    options.action = action;
    options.help = chosen == kCommands.end()
                       ? general_help()
                       : command_help(static_cast<Command>(chosen - kCommands.begin()));
    return options;
  }
  Options options = of_commands[static_cast<size_t>(chosen - kCommands.begin())];
  if (options.command == Command::kThroughput) {  // --size sets the size of request and answer
    options.throughput.answer_bytes = options.throughput.request_bytes;
  }
  HAT_TRY(options.address, address_of(addresses[0]));
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
