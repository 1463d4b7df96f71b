// SPDX-License-Identifier: Apache-2.0
// kv/ycsb/options.h: parses the command line of hatkv-ycsb.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/address.h"
#include "base/arguments.h"
#include "base/result.h"
#include "kv/ycsb/workload.h"

namespace hat::ycsb {

struct Options {
  bool load = false;  // true: the command load; false: the command run
  Address address;    // from --connect, otherwise $HATKV_ADDRESS, otherwise tcp:127.0.0.1:9091
  Workload workload;  // from the workload files, -p and --threads
  double warm_up_seconds = 0;
  uint64_t seed = 0;  // 0: a random seed
  bool json = false;
  Action action = Action::kRun;
  std::vector<std::string> unknown_keys;  // keys that neither YCSB nor this program knows
};

// Parses the arguments after the program's name. An error names the option or the workload's key,
// the value that was found and the expected value.
Result<Options> parse_options(const std::vector<std::string>& arguments);

// The text that `hatkv-ycsb --help` prints.
extern const char* const kHelp;

}  // namespace hat::ycsb
