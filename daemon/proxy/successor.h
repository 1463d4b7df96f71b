// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/successor.h: who goes on with this daemon's client connections and with their
// connections to servers: a new hatrpcd of the same node (docs/upgrade.md).
//
// Thread   any worker's, several at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include "engine/frame.h"

namespace hat {

struct DetachedConnection;

// The connection to a server that belongs to a client's connection, while no stream has it: `peer`
// keeps it for whoever presents the token.
struct KeptServer {
  std::string peer;
  engine::ConnectionToken token{};
};

class Successor {
 public:
  enum class Answer : uint8_t {
    kTaken,  // the connection is the successor's: it is closed here, and the other side sees
             // nothing
    kLater,  // there is no room now
    kNever,  // this one stays
  };
  virtual ~Successor() = default;

  // Whether the successor has that endpoint; always the same.
  virtual bool wants(size_t endpoint) const = 0;
  // Offers a client's connection on which no call is out: its descriptors (Stream::descriptors(),
  // which stay the stream's); in parts what was read of it and is no call yet; and the connection
  // to its server, or null.
  virtual Answer take(size_t endpoint, std::span<const int> descriptors,
                      std::initializer_list<std::span<const std::byte>> read,
                      const KeptServer* server) = 0;
  // Offers a connection to a server that a peer will ask for.
  virtual Answer take_server(const DetachedConnection& connection) = 0;
};

}  // namespace hat
