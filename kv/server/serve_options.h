// SPDX-License-Identifier: Apache-2.0
// kv/server/serve_options.h: parses the command line of `hatkv serve`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/address.h"
#include "base/arguments.h"
#include "base/result.h"
#include "kv/store/durability.h"

namespace hat {

enum class ServerKind : uint8_t { kThreaded, kThreadPool, kNonblocking };

struct ServeOptions {
  std::vector<Address> listen;  // at least one address
  std::string data;             // the store's folder
  Durability durability = Durability::kSync;
  std::string manifest;                    // empty: the manifest installed with the program, if any
  std::optional<uint32_t> readers;         // number of read transactions; overrides the hints
  std::optional<uint32_t> commit_wait_us;  // patience of every write; overrides the hints
  uint64_t map_bytes = 1ull << 30;         // the initial size of the store's map
  uint64_t max_bytes = 1ull << 40;         // the maximum size of the map
  std::string backups;                     // folder for backups; empty: backups are refused
  std::optional<Address> metrics;
  ServerKind server = ServerKind::kThreaded;
  bool framed = true;
  bool compact = false;
  uint32_t threads = 16;        // workers of a thread pool or of a nonblocking server
  uint32_t connections = 1024;  // limit per address, for servers with a thread per connection
  Action action = Action::kRun;
};

// Parses the arguments after `serve`.
Result<ServeOptions> parse_serve(const std::vector<std::string>& arguments);

}  // namespace hat
