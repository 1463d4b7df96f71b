// SPDX-License-Identifier: Apache-2.0
// hintgen/command_line.cc: parses the arguments in any order, as --name VALUE or --name=VALUE.
#include "hintgen/command_line.h"

#include <algorithm>
#include <array>
#include <functional>
#include <string_view>
#include <utility>

#include "base/number.h"
#include "config/diagnostics.h"

namespace hat::hintgen {
namespace {

struct ModeWord {
  std::string_view word;
  Mode mode;
};
constexpr std::array kModeWords = {
    ModeWord{"--check", Mode::kCheck}, ModeWord{"--explain", Mode::kExplain},
    ModeWord{"--strip", Mode::kStrip}, ModeWord{"--annotate", Mode::kAnnotate},
    ModeWord{"--dump", Mode::kDump},   ModeWord{"--help", Mode::kHelp},
    ModeWord{"-h", Mode::kHelp},       ModeWord{"--version", Mode::kVersion},
};

constexpr std::array<std::string_view, 8> kOtherWords = {
    "-I", "-o", "--cores", "--nic-cores", "--profile", "--rdma", "--no-rdma", "--side"};

constexpr uint32_t kCoresMax = 65536;

class Reader {
 public:
  explicit Reader(const std::vector<std::string>& arguments) : arguments_(arguments) {
    line_.host = engine::this_host();
    line_.host.rdma = true;
    line_.host.rdma_absent_reason.clear();
  }

  Result<CommandLine> run() {
    while (next_ < arguments_.size()) HAT_TRY_VOID(read_one());
    const bool needs_input = line_.mode != Mode::kHelp && line_.mode != Mode::kVersion;
    if (needs_input && line_.input.empty()) {
      return fail("no IDL file is named; write hintgen FILE.thrift, or hintgen --help");
    }
    if (line_.mode == Mode::kCheck && line_.output != "-") {
      return fail("--check writes no file, so '" + line_.output +
                  "' would not change; remove --check or -o " + line_.output);
    }
    HAT_TRY_VOID(settle_host());
    return std::move(line_);
  }

 private:
  Result<void> read_one() {
    const std::string& argument = arguments_[next_++];
    if (argument.size() < 2 || argument[0] != '-' || only_files_) return take_input(argument);
    if (argument == "--") {
      only_files_ = true;
      return {};
    }
    for (const ModeWord& known : kModeWords) {
      if (known.word == argument) return take_mode(known);
    }
    return read_option(argument);
  }

  Result<void> take_input(const std::string& argument) {
    if (!line_.input.empty()) {
      return fail("one IDL file at a time: both '" + line_.input + "' and '" + argument +
                  "' are named; run hintgen once for each");
    }
    line_.input = argument;
    return {};
  }

  Result<void> take_mode(const ModeWord& wanted) {
    if (!mode_word_.empty() && line_.mode != wanted.mode) {
      return fail(mode_word_ + " and " + std::string(wanted.word) +
                  " cannot be combined; give one of them");
    }
    mode_word_ = wanted.word;
    line_.mode = wanted.mode;
    return {};
  }

  Result<void> read_option(const std::string& argument) {
    const size_t equals = argument.starts_with("--") ? argument.find('=') : std::string::npos;
    const std::string word = argument.substr(0, equals);
    attached_.reset();
    if (equals != std::string::npos) attached_ = argument.substr(equals + 1);

    if (word == "--rdma") return take_flag(word, true);
    if (word == "--no-rdma") return take_flag(word, false);
    if (word == "--cores") return take_cores(word, cores_);
    if (word == "--nic-cores") return take_cores(word, nic_cores_);
    if (word == "--side") return take_side();
    if (word == "--profile") {
      HAT_TRY(line_.profile, take_value(word, "FILE"));
      explain_word_ = word;
      return {};
    }
    if (word.starts_with("-I") || word.starts_with("-o")) {
      if (word.size() > 2) attached_ = word.substr(2);
      const std::string letter = word.substr(0, 2);
      HAT_TRY(std::string value, take_value(letter, letter == "-I" ? "DIR" : "FILE"));
      if (letter == "-I") {
        line_.include_dirs.push_back(std::move(value));
      } else {
        line_.output = std::move(value);
      }
      return {};
    }
    return unknown(word);
  }

  Result<void> unknown(const std::string& word) const {
    std::vector<std::string_view> known(kOtherWords.begin(), kOtherWords.end());
    for (const ModeWord& mode : kModeWords) known.push_back(mode.word);
    return fail("unknown option '" + word + "'" + did_you_mean(word, known) +
                "; hintgen --help lists all");
  }

  Result<std::string> take_value(const std::string& word, const char* what) {
    if (attached_ && !attached_->empty()) return *attached_;
    if (!attached_ && next_ < arguments_.size()) return arguments_[next_++];
    return fail(word + " needs a value: " + word + " " + what);
  }

  Result<void> take_flag(const std::string& word, bool rdma) {
    if (attached_) return fail(word + " takes no value");
    line_.host.rdma = rdma;
    line_.rdma_assumed = false;
    line_.host.rdma_absent_reason = rdma ? "" : "--no-rdma";
    explain_word_ = word;
    return {};
  }

  Result<void> take_cores(const std::string& word, std::optional<uint32_t>& cores) {
    HAT_TRY(const std::string value, take_value(word, "NUMBER"));
    const auto number = parse_number<uint32_t>(value);
    if (!number || *number < 1 || *number > kCoresMax) {
      return fail(word + " " + value + ": expected a number from 1 to " +
                  std::to_string(kCoresMax));
    }
    cores = number;
    explain_word_ = word;
    return {};
  }

  Result<void> take_side() {
    HAT_TRY(const std::string value, take_value("--side", "client|server"));
    if (value != "client" && value != "server") {
      return fail("--side " + value + ": expected client or server");
    }
    line_.side = value == "client" ? Side::kClient : Side::kServer;
    explain_word_ = "--side";
    return {};
  }

  Result<void> settle_host() {
    if (!explain_word_.empty() && line_.mode != Mode::kExplain) {
      return fail(explain_word_ + " has an effect only with --explain; add --explain");
    }
    engine::HostFacts& host = line_.host;
    if (cores_) host.cores = host.nic_cores = *cores_;
    if (nic_cores_) host.nic_cores = *nic_cores_;
    if (host.nic_cores > host.cores) {
      return fail("--nic-cores " + std::to_string(host.nic_cores) + " is more than the host's " +
                  std::to_string(host.cores) + " cores; give --cores too");
    }
    return {};
  }

  const std::vector<std::string>& arguments_;
  size_t next_ = 0;
  bool only_files_ = false;
  std::optional<std::string> attached_;  // VALUE of --name=VALUE
  std::optional<uint32_t> cores_;
  std::optional<uint32_t> nic_cores_;
  std::string mode_word_;
  std::string explain_word_;  // the last option that only --explain uses
  CommandLine line_;
};

}  // namespace

Result<CommandLine> parse_command_line(const std::vector<std::string>& arguments) {
  return Reader(arguments).run();
}

std::string help_text() {
  return R"(hintgen: reads Thrift IDL with performance hints, and writes the manifest for hatrpcd.

  hintgen [-I DIR]... [-o FILE] FILE.thrift           write the manifest (YAML)
  hintgen --check    FILE.thrift                      report errors and warnings; no -o
  hintgen --explain  FILE.thrift                      show each function's plan and the reason
  hintgen --strip    FILE.thrift                      write plain IDL, without native hints
  hintgen --annotate FILE.thrift                      write plain IDL, hints as annotations
  hintgen --dump     FILE.thrift                      print the parsed IDL as JSON

  -I DIR             also search DIR for included files; may be repeated
  -o FILE            write to FILE; without -o, or with -o -, to standard output. FILE is
                     replaced as a whole; a symbolic link remains, and its target is replaced
  --side client|server
                     --explain: show only the plans of this side
  --cores N          --explain: for a host with N cores instead of this host
  --nic-cores N      --explain: for a host on which N of the cores are near the RDMA NIC
  --profile FILE     --explain: use the costs that `hatctl calibrate` measured
  --no-rdma          --explain: for a host without RDMA
  --rdma             --explain: for a host with RDMA. This is the default: hintgen does not
                     look for RDMA devices
  --help, --version

Hints belong to a service or to a function. There are two ways to write them:

  service KV {
    hint: perf_goal=latency, concurrency=16;          // the whole service
    binary get(1: binary key)
    [ c_hint: payload_size=64; s_hint: payload_size=1KiB; ]
    void put(1: binary key, 2: binary value) ( hat.client.payload_size = "1KiB" )
  }

The Thrift compiler accepts annotations (hat.KEY) as they are. It accepts an IDL file with hint:
groups only after --strip or --annotate:

  hintgen kv.thrift -o kv.yaml
  hintgen --strip kv.thrift -o gen/kv.thrift && thrift --gen cpp gen/kv.thrift
  hintgen --explain --cores 28 --nic-cores 14 kv.thrift

Exit status: 0 success, 1 errors in the input, or a file that cannot be read or written, 2 wrong
usage.
)";
}

}  // namespace hat::hintgen
