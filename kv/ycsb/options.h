// SPDX-License-Identifier: Apache-2.0
// kv/ycsb/options.h: parses the command line of hatkv-ycsb.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/address.h"
#include "base/result.h"
#include "kv/ycsb/workload.h"

namespace hat::ycsb {

struct Options {
  bool load = false;  // false: run
  Address address;    // --connect, else $HATKV_ADDRESS, else tcp:127.0.0.1:9091
  Workload workload;  // from the workload files, -p and --threads
  double warm_up_seconds = 0;
  uint64_t seed = 0;  // 0: a random seed
  bool json = false;
  std::vector<std::string> unknown_keys;  // workload keys unknown to YCSB and this driver
};

struct HelpWanted {};
struct VersionWanted {};
using Command = std::variant<Options, HelpWanted, VersionWanted>;

// Parses `words`, the arguments after the program's name. Errors name the option or the workload's
// key, the value found and the value expected.
Result<Command> parse_options(std::span<const std::string_view> words);

// The text that `hatkv-ycsb --help` prints.
extern const char* const kHelp;

}  // namespace hat::ycsb
