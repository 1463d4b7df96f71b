// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/successor.h: the successor: the new hatrpcd process of the same node, which
// continues this process's client connections and their connections to servers (docs/upgrade.md).
//
// Thread   Any worker's thread can call a Successor; several threads can call at the same time.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include "base/address.h"
#include "engine/frame.h"

namespace hat {

struct DetachedConnection;

// A connection to a server that the node `peer` keeps for one client connection while that client
// connection has no stream. A new stream gets the connection to the server by presenting `token`.
struct KeptServer {
  std::string peer;
  engine::ConnectionToken token{};
};

class Successor {
 public:
  // The successor's answer to the offer of a connection.
  enum class Answer : uint8_t {
    // The successor has the connection, so the caller closes its copies of the descriptors. The
    // other end of the connection does not notice.
    kTaken,
    kLater,  // the channel to the successor is full now; the caller offers the connection again
    kNever,  // the successor does not take the connection, so it stays in this process
  };
  virtual ~Successor() = default;

  // Returns true if the successor listens at this address. The result never changes.
  virtual bool wants(const Address& endpoint) const = 0;
  // Offers the successor a client connection of the endpoint that listens at `endpoint`, on which
  // no call is in flight. `descriptors` come from
  // ByteStream::descriptors(), and the byte stream still owns them. `read` has, in parts, the bytes
  // that were read from the connection and that belong to no call yet. `server` is the connection
  // to the server that a peer keeps for this client, or null if there is none.
  virtual Answer take(const Address& endpoint, std::span<const int> descriptors,
                      std::initializer_list<std::span<const std::byte>> read,
                      const KeptServer* server) = 0;
  // Offers the successor a connection to a local server. The successor keeps the connection for the
  // stream that presents the connection's token.
  virtual Answer take_server(const DetachedConnection& connection) = 0;
};

}  // namespace hat
