// SPDX-License-Identifier: Apache-2.0
// hintgen/main.cc: the main program of hintgen.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "config/manifest.h"
#include "config/profile.h"
#include "hintgen/command_line.h"
#include "hintgen/dump.h"
#include "hintgen/emit.h"
#include "hintgen/header.h"
#include "hintgen/hint_check.h"
#include "hintgen/kept_rules.h"
#include "hintgen/load.h"
#include "hintgen/output.h"
#include "hintgen/resolve.h"
#include "hintgen/rewrite.h"

namespace hat::hintgen {
namespace {

constexpr int kExitErrors = 1;
constexpr int kExitUsage = 2;

std::string describe_check(const Manifest& manifest) {
  size_t function_count = 0;
  for (const ServiceSpec& service : manifest.services) function_count += service.functions.size();
  const auto counted = [](size_t count, const char* word) {
    return std::to_string(count) + " " + word + (count == 1 ? "" : "s");
  };
  return manifest.source + ": " + counted(manifest.services.size(), "service") + ", " +
         counted(function_count, "function") + ", no errors\n";
}

// Returns a text about the host for which --explain makes plans. hintgen does not open an RDMA
// device, so it does not know whether the host has one; hatrpcd finds that out when it starts.
std::string describe_host(const engine::HostFacts& host, bool rdma_assumed) {
  const char* rdma = rdma_assumed ? "RDMA assumed (use --no-rdma if there is none)"
                     : host.rdma  ? "RDMA"
                                  : "no RDMA";
  const std::string near = host.nic_cores == host.cores
                               ? ""
                               : std::to_string(host.nic_cores) + " of them near the NIC, ";
  return "Host: " + std::to_string(host.cores) + " cores, " + near + rdma +
         (host.measured ? ", costs from --profile" : "") + "\n\n";
}

// Returns the facts about the host for which --explain makes plans. Adds an error if the profile
// cannot be read.
engine::HostFacts host_of(const CommandLine& line, Diagnostics& diagnostics) {
  engine::HostFacts host = line.host;
  if (line.profile.empty()) return host;
  Profile profile = load_profile(line.profile, diagnostics);
  host.measured = std::make_shared<const ComponentCosts>(std::move(profile.costs));
  return host;
}

Result<std::string> make_output(const CommandLine& line, const engine::HostFacts& host,
                                const Idl& idl) {
  switch (line.mode) {
    case Mode::kCheck:
      return describe_check(make_manifest(idl));
    case Mode::kExplain:
      return describe_host(host, line.rdma_assumed) + explain(make_manifest(idl), host, line.side);
    case Mode::kCpp:
      return make_header(*idl.main, write_manifest(make_manifest(idl)));
    case Mode::kStrip:
      return strip(*idl.main);
    case Mode::kAnnotate:
      return annotate(*idl.main);
    case Mode::kDump:
      return dump_json(*idl.main);
    case Mode::kManifest:
      break;
  }
  Manifest manifest = make_manifest(idl);
  HAT_TRY_VOID(keep_rules(line.output, manifest));
  return write_manifest(manifest);
}

// Returns true if the output would replace an IDL file that was read. --strip and --annotate are
// exceptions: they may replace the file that they rewrite.
bool replaces_input(const CommandLine& line, const Idl& idl) {
  if (line.output == "-") return false;
  const bool rewrites = line.mode == Mode::kStrip || line.mode == Mode::kAnnotate;
  return std::ranges::any_of(idl.files, [&](const SourceFile* file) {
    std::error_code error;  // ignored: set if the output does not exist yet
    return !(rewrites && file == idl.files.front()) &&
           std::filesystem::equivalent(line.output, file->path(), error);
  });
}

int run(const CommandLine& line) {
  Diagnostics diagnostics;
  Idl idl = load(line.input, line.include_dirs, read_file, diagnostics);
  resolve(idl, diagnostics);
  read_hints(idl, diagnostics);
  const engine::HostFacts host = host_of(line, diagnostics);
  std::fputs(render(diagnostics, idl.files).c_str(), stderr);
  if (const std::string count = count_mistakes(diagnostics); !count.empty()) {
    std::fprintf(stderr, "hintgen: %s\n", count.c_str());
  }
  if (diagnostics.any_errors()) return kExitErrors;

  if (replaces_input(line, idl)) {
    std::fprintf(stderr, "hintgen: '%s' is an IDL file that was read; -o must name another file\n",
                 line.output.c_str());
    return kExitUsage;
  }
  const auto output = make_output(line, host, idl);
  const auto written =
      output ? write_output(line.output, *output) : Result<void>(std::unexpected(output.error()));
  if (written) return 0;
  std::fprintf(stderr, "hintgen: %s\n", written.error().message.c_str());
  return kExitErrors;
}

int run_arguments(const std::vector<std::string>& arguments) {
  const auto line = parse_command_line(arguments);
  if (!line) {
    std::fprintf(stderr, "hintgen: %s\n", line.error().message.c_str());
    return kExitUsage;
  }
  if (line->action == Action::kShowHelp) {
    std::fputs(help_text().c_str(), stdout);
    return 0;
  }
  if (line->action == Action::kShowVersion) {
    std::puts("hintgen " HAT_VERSION);
    return 0;
  }
  return run(*line);
}

}  // namespace
}  // namespace hat::hintgen

int main(int argc, char** argv) {
  try {
    return hat::hintgen::run_arguments({argv + 1, argv + argc});
  } catch (const std::exception& error) {  // most likely out of memory
    std::fprintf(stderr, "hintgen: %s\n", error.what());
    return 1;
  }
}
