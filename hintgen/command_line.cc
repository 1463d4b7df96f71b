// SPDX-License-Identifier: Apache-2.0
#include "hintgen/command_line.h"

#include <algorithm>
#include <utility>

#include "base/cores.h"
#include "config/worker_placement.h"

namespace hat::hintgen {
namespace {

// Arguments as they were given, which this code then converts to members of the CommandLine.
struct Given {
  std::vector<std::string> inputs;
  std::vector<std::pair<std::string, Mode>> modes;
  std::string explain_option;  // the last option that only --explain uses
  uint32_t cores = 0;          // 0 if the option is absent
  uint32_t nic_cores = 0;
};

void declare_modes(Arguments& parser, Given& given) {
  constexpr std::pair<const char*, Mode> kModes[] = {
      {"--cpp", Mode::kCpp},     {"--check", Mode::kCheck},       {"--explain", Mode::kExplain},
      {"--strip", Mode::kStrip}, {"--annotate", Mode::kAnnotate}, {"--dump", Mode::kDump}};
  for (const auto& [name, mode] : kModes) {
    parser.flag(name, [&given, name, mode] { given.modes.emplace_back(name, mode); });
  }
}

void declare_explain_options(Arguments& parser, CommandLine& line, Given& given) {
  const auto rdma = [&](const char* name, bool is_there) {
    parser.flag(name, [&line, &given, name, is_there] {
      line.host.rdma = is_there;
      line.rdma_assumed = false;
      line.host.rdma_absent_reason = is_there ? "" : name;
      given.explain_option = name;
    });
  };
  rdma("--rdma", true);
  rdma("--no-rdma", false);
  const auto option = [&](const char* name, Arguments::Read read) {
    parser.option(name, [&given, name, read = std::move(read)](const std::string& value) {
      given.explain_option = name;
      return read(value);
    });
  };
  option("--cores", read_number(given.cores, 1u, engine::kCoresMax));
  option("--nic-cores", read_number(given.nic_cores, 1u, engine::kCoresMax));
  option("--side", read_one_of({"client", "server"}, [&line](size_t index) {
           line.side = index == 0 ? Side::kClient : Side::kServer;
         }));
  option("--profile", read_non_empty_text(line.profile, "a file"));
}

Result<void> settle_mode(const Given& given, CommandLine& line) {
  for (const auto& [name, mode] : given.modes) {
    const auto& [first_name, first_mode] = given.modes.front();
    if (mode != first_mode) {
      return fail(ErrorCode::kInvalid,
                  first_name + " and " + name + " cannot be combined; give one of them");
    }
    line.mode = mode;
  }
  if (line.mode == Mode::kCheck && line.output != "-") {
    return fail(ErrorCode::kInvalid, "--check writes no file, so '" + line.output +
                                         "' would not change; remove --check or -o " + line.output);
  }
  if (!given.explain_option.empty() && line.mode != Mode::kExplain) {
    return fail(ErrorCode::kInvalid,
                given.explain_option + " has an effect only with --explain; add --explain");
  }
  return {};
}

Result<void> settle_input(const Given& given, CommandLine& line) {
  if (given.inputs.empty() || given.inputs[0].empty()) {
    return fail(ErrorCode::kInvalid,
                "no IDL file is named; write hintgen FILE.thrift, or hintgen --help");
  }
  if (given.inputs.size() > 1) {
    return fail(ErrorCode::kInvalid, "one IDL file at a time: both '" + given.inputs[0] +
                                         "' and '" + given.inputs[1] +
                                         "' are named; run hintgen once for each");
  }
  line.input = given.inputs[0];
  return {};
}

// Returns the facts about this host, as hatrpcd finds them on a host with an RDMA device.
engine::HostFacts explained_host() {
  engine::HostFacts host = engine::this_host();
  host.rdma = true;
  host.rdma_absent_reason.clear();
  host.nic_cores = count_nic_cores(read_host_cores({}, allowed_cores()), host.cores);
  return host;
}

Result<void> settle_host(const Given& given, engine::HostFacts& host) {
  if (given.cores != 0) host.cores = host.nic_cores = given.cores;
  if (given.nic_cores != 0) host.nic_cores = given.nic_cores;
  if (host.nic_cores > host.cores) {
    return fail(ErrorCode::kInvalid, "--nic-cores " + std::to_string(host.nic_cores) +
                                         " is more than the host's " + std::to_string(host.cores) +
                                         " cores; give --cores too");
  }
  return {};
}

}  // namespace

Result<CommandLine> parse_command_line(const std::vector<std::string>& arguments) {
  CommandLine line;
  line.host = explained_host();
  Given given;
  Arguments parser("hintgen");
  parser.words("FILE.thrift", 0, Arguments::kAnyNumber, given.inputs);
  parser.option("-I", [&line](const std::string& folder) -> Result<void> {
    if (folder.empty()) return unexpected_value(folder, "a folder");
    line.include_dirs.push_back(folder);
    return {};
  });
  parser.option("-o", read_non_empty_text(line.output, "a file, or - for standard output"));
  declare_modes(parser, given);
  declare_explain_options(parser, line, given);
  HAT_TRY(line.action, parser.parse(arguments));
  if (line.action != Action::kRun) return line;
  HAT_TRY_VOID(settle_input(given, line));
  HAT_TRY_VOID(settle_mode(given, line));
  HAT_TRY_VOID(settle_host(given, line.host));
  return line;
}

std::string help_text() {
  return R"(hintgen: reads Thrift IDL with performance hints, and writes the manifest for hatrpcd.

  hintgen [-I DIR]... [-o FILE] FILE.thrift           write the manifest (YAML)
  hintgen --cpp      FILE.thrift                      write the manifest in a C++ header
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
  --rdma             --explain: for a host with RDMA. This is the default: hintgen opens no
                     RDMA device
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
  hintgen --cpp kv.thrift -o gen/kv_manifest.h        for a program with TRdma

Exit status: 0 success, 1 errors in the input, or a file that cannot be read or written, 2 wrong
usage.
)";
}

}  // namespace hat::hintgen
