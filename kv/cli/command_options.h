// SPDX-License-Identifier: Apache-2.0
// kv/cli/command_options.h: parses the command lines of hatkv's client commands, such as get, put
// and scan.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/address.h"
#include "base/arguments.h"
#include "base/result.h"

namespace hat {

// The options of one command line.
// Members  Each option of any command is a member. No command uses all of them.
struct CommandOptions {
  // Options of every command.
  Address connect;  // from --connect, otherwise $HATKV_ADDRESS, otherwise tcp:127.0.0.1:9091
  bool framed = true;
  bool compact = false;
  uint32_t timeout_s = 30;         // how long to wait for each answer; backup has no timeout
  std::vector<std::string> words;  // arguments that are not options, such as keys and values

  bool raw = false;   // command get: print values without line breaks
  bool json = false;  // command stats: print JSON

  // Options of the command scan: the range of keys, the number of pairs, and whether to print only
  // the keys.
  std::string start;
  std::string before;
  uint64_t limit = 0;  // 0: no limit
  bool keys = false;

  // Options of the command load. `records` is the number of generated records; 0: use `file`.
  uint64_t records = 0;
  std::string file;  // "-" is standard input
  std::string prefix = "user";
  uint32_t key_bytes = 24;
  uint32_t value_bytes = 1000;
  uint64_t seed = 1;
  uint32_t batch = 10;
  uint32_t clients = 4;
  bool quiet = false;

  Action action = Action::kRun;
};

// Parses the arguments after the command's name.
Result<CommandOptions> parse_command(const std::string& command,
                                     const std::vector<std::string>& arguments);

}  // namespace hat
