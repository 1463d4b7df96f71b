// SPDX-License-Identifier: Apache-2.0
// kv/ycsb/options.h: reads the command line of hatkv-ycsb.
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
  bool load = false;  // else run
  Address address;    // --connect, else $HATKV_ADDRESS, else tcp:127.0.0.1:9091
  Workload workload;  // what files, -p and --threads say together
  double warm_up_seconds = 0;
  uint64_t seed = 0;  // 0: another one each time
  bool json = false;
  std::vector<std::string> unknown_keys;  // of the workload
};

struct HelpWanted {};
struct VersionWanted {};
using Command = std::variant<Options, HelpWanted, VersionWanted>;

// `words`: those after the program's name. Errors name the option or the workload's key, what was
// found and what was expected.
Result<Command> parse_options(std::span<const std::string_view> words);

// What `hatkv-ycsb --help` prints.
extern const char* const kHelp;

}  // namespace hat::ycsb
