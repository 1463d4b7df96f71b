// SPDX-License-Identifier: Apache-2.0
// hintgen/command_line.h: parses the command line of hintgen, the program that reads Thrift IDL
// with hints and writes a manifest (the functions and their hints) for the daemons.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/arguments.h"
#include "base/result.h"
#include "config/hints.h"
#include "engine/plan/planner.h"

namespace hat::hintgen {

enum class Mode : uint8_t {
  kManifest,
  kCpp,
  kCheck,
  kExplain,
  kStrip,
  kAnnotate,
  kDump,
};

struct CommandLine {
  Action action = Action::kRun;
  Mode mode = Mode::kManifest;
  std::string input;
  std::string output = "-";  // "-": standard output
  std::vector<std::string> include_dirs;
  // kExplain: the host for which --explain makes plans. Unless options say otherwise, it has the
  // cores of the host on which hintgen runs, and RDMA.
  engine::HostFacts host;
  bool rdma_assumed = true;  // true if neither --rdma nor --no-rdma was given
  std::optional<Side> side;  // kExplain: the side to explain; nullopt: both sides
  std::string profile;       // kExplain: the file of measured costs; empty: none
};

// Parses the arguments after the program's name.
Result<CommandLine> parse_command_line(const std::vector<std::string>& arguments);

std::string help_text();

}  // namespace hat::hintgen
