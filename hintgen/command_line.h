// SPDX-License-Identifier: Apache-2.0
// hintgen/command_line.h: the arguments of hintgen.
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
  engine::HostFacts host;    // kExplain: this host's cores, with RDMA, unless set otherwise
  bool rdma_assumed = true;  // neither --rdma nor --no-rdma was given
  std::optional<Side> side;  // kExplain: absent: both
  std::string profile;       // kExplain: file of measured costs; empty: none
};

// Parses the arguments after the program's name.
Result<CommandLine> parse_command_line(const std::vector<std::string>& arguments);

std::string help_text();

}  // namespace hat::hintgen
