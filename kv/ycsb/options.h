// kv/ycsb/options.h: reads the command line of hatkv-ycsb.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "base/address.h"
#include "base/result.h"
#include "kv/ycsb/workload.h"

namespace hat::ycsb {

struct Options {
  bool load = false;  // else run
  Address address;
  Workload workload;  // what files, -p and --threads say together
  double warm_up_seconds = 0;
  uint64_t seed = 0;  // 0: another one each time
  bool json = false;
  std::vector<std::string> unknown_keys;  // of the workload
};

struct HelpWanted {};
struct VersionWanted {};
using Command = std::variant<Options, HelpWanted, VersionWanted>;

// Errors name the option or the workload's key, what was found and what was expected.
Result<Command> parse_options(int argc, char** argv);

// What `hatkv-ycsb --help` prints.
extern const char* const kHelp;

}  // namespace hat::ycsb
