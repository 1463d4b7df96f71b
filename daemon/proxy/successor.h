// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/successor.h: the new hatrpcd of the same node that continues this daemon's client
// connections and their connections to servers (docs/upgrade.md).
//
// Thread   any worker's; several may call at the same time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include "engine/frame.h"

namespace hat {

struct DetachedConnection;

// A connection to a server that belongs to a client connection, while no stream uses it. `peer`
// keeps it for a stream that presents the token.
struct KeptServer {
  std::string peer;
  engine::ConnectionToken token{};
};

class Successor {
 public:
  enum class Answer : uint8_t {
    kTaken,  // the connection is the successor's and is closed here; the other side does not
             // notice
    kLater,  // the channel to the successor is full now
    kNever,  // the connection stays here
  };
  virtual ~Successor() = default;

  // Returns whether the successor has that endpoint. The answer never changes.
  virtual bool wants(size_t endpoint) const = 0;
  // Offers a client connection on which no call is in flight. `descriptors` are those of
  // ByteStream::descriptors(), and the stream still owns them. `read` has, in parts, the bytes that
  // were read from the connection and that no call has used yet. `server` is the client's
  // connection to its server that a peer keeps, or null.
  virtual Answer take(size_t endpoint, std::span<const int> descriptors,
                      std::initializer_list<std::span<const std::byte>> read,
                      const KeptServer* server) = 0;
  // Offers the successor a connection to a local server. The successor gives the connection to the
  // peer that presents the connection's token.
  virtual Answer take_server(const DetachedConnection& connection) = 0;
};

}  // namespace hat
