// SPDX-License-Identifier: Apache-2.0
// kv/server/serve_options.h: reads the command line of `hatkv serve`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/address.h"
#include "base/result.h"
#include "kv/store/durability.h"
#include "kv/words.h"

namespace hat {

enum class ServerKind : uint8_t { kThreaded, kThreadPool, kNonblocking };

struct ServeOptions {
  std::vector<Address> listen;  // at least one
  std::string data;             // the store's folder
  Durability durability = Durability::kSync;
  std::string manifest;                    // empty: the one beside the program, if there is one
  std::optional<uint32_t> readers;         // wins over the hints
  std::optional<uint32_t> commit_wait_us;  // wins over the hints, for every write
  uint64_t map_bytes = 1ull << 30;         // where the store's map starts
  uint64_t max_bytes = 1ull << 40;         // what it may grow to
  std::string backups;                     // empty: none are made
  std::optional<Address> metrics;
  ServerKind server = ServerKind::kThreaded;
  bool framed = true;
  bool compact = false;
  uint32_t threads = 16;        // workers of a thread pool or of a nonblocking server
  uint32_t connections = 1024;  // at once, of each address that has a thread per connection
};

Result<ServeOptions> parse_serve(Words words);

}  // namespace hat
