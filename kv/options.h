// kv/options.h: reads the command line of hatkv.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "base/address.h"
#include "base/result.h"

namespace hat {

enum class ServerKind : uint8_t { kThreaded, kThreadPool, kNonblocking };

struct KvOptions {
  Address listen;
  std::string data;  // the store's folder
  ServerKind server = ServerKind::kThreaded;
  bool framed = true;
  bool compact = false;
  uint32_t threads = 16;            // workers of a thread pool or of a nonblocking server
  uint64_t map_bytes = 1ull << 30;  // where the store's map starts
  uint32_t readers = 1024;          // reads at once
};

struct HelpWanted {};
struct VersionWanted {};
using KvCommand = std::variant<KvOptions, HelpWanted, VersionWanted>;

// Errors name the option, what was found and what was expected.
Result<KvCommand> parse_options(int argc, char** argv);

// What `hatkv --help` prints.
extern const char* const kKvHelp;

}  // namespace hat
