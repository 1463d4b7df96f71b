// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/inbound/detached_connections.h: connections to local servers that no stream uses at
// present and that this process keeps for a later stream.
//
// When the peer or this daemon is replaced by its successor, a client's stream ends, and a new
// stream on another link continues with the same connection to the server. Between the two streams,
// DetachedConnections keeps the connection under a random token. The new stream presents the token
// (frames kDetach and kAttach in engine/frame.h). If this process has a successor, all kept
// connections go to the successor.
//
//   keep() or adopt() ──▶ kept ──▶ claim()          to the stream that presents the token
//                           ├────▶ sweep()          to the successor, or closed after kKeepTime
//                           └────▶ the destructor   closes the rest
//
// Bounds   kConnectionsMax in all and kConnectionsOfPeerMax for each peer, each for kKeepTime.
// Trust    A peer can claim only a connection that it has used: the claim must come from the same
//          node name and, with TLS, from a certificate that has a name in common with the earlier
//          certificate.
// Thread   any.
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "base/reactor.h"
#include "base/result.h"
#include "engine/frame.h"

namespace hat {

class Successor;

// A connection to a local server, and the facts that another stream needs to continue with it.
struct DetachedConnection {
  engine::ConnectionToken token{};
  std::string service;
  std::string server;                   // the server's address, as text
  std::string peer;                     // the name of the node whose stream used the connection
  std::vector<std::string> peer_names;  // the names in the peer's certificate; empty without TLS
  std::vector<uint64_t> oneways;        // hashes of the names of functions that were called oneway
  bool unchecked = true;                // false: a RequestGuard has checked all its requests
  std::vector<Descriptor> descriptors;  // duplicates of ByteStream::descriptors()
};

// Encodes all fields but the descriptors, for a successor of the same build or a later build.
std::vector<std::byte> encode(const DetachedConnection& connection);
// Decodes the bytes that encode() of the same build or an earlier build returned.
Result<DetachedConnection> decode_detached(std::span<const std::byte> bytes);

class DetachedConnections {
 public:
  static constexpr size_t kConnectionsMax = 4096;
  static constexpr size_t kConnectionsOfPeerMax = 2048;
  static constexpr std::chrono::seconds kKeepTime{30};

  // Keeps the connection under a new token, and returns the token. Returns nothing if a limit is
  // reached, or if the system returns no random bytes.
  std::optional<engine::ConnectionToken> keep(DetachedConnection connection, TimePoint now);
  // Keeps a connection that the predecessor (the earlier hatrpcd of this node) has kept, under the
  // token that the predecessor gave it. Returns false if a limit is reached.
  bool adopt(DetachedConnection connection, TimePoint now);
  // Removes and returns the connection with this token. Returns nothing if the token is unknown, or
  // if another peer than `peer` has used the connection.
  std::optional<DetachedConnection> claim(const engine::ConnectionToken& token,
                                          const std::string& peer,
                                          std::span<const std::string> peer_names);

  // Sets whether the predecessor can still send connections.
  void expect_more(bool may_come) { more_may_come_ = may_come; }
  // Returns true if the predecessor can still send connections, so that an unknown token can become
  // known.
  bool more_may_come() const { return more_may_come_; }
  // Makes sweep() send all kept connections to `successor`. Call it only when the peers open no
  // more streams in this process, because a sent connection cannot be claimed here.
  void give_to(std::shared_ptr<Successor> successor);
  // Sends connections to the successor while its channel has space, and closes connections that
  // were kept for kKeepTime. Call it about once a second, and more often during a takeover.
  void sweep(TimePoint now);
  // Returns true if connections are left that must go to the successor.
  bool has_more_to_give() const;
  size_t size() const;

 private:
  struct Kept {
    DetachedConnection connection;
    TimePoint until;
  };
  bool add(DetachedConnection connection, TimePoint now);
  void send();

  mutable std::mutex mutex_;
  std::map<engine::ConnectionToken, Kept> kept_;
  std::shared_ptr<Successor> successor_;  // null: no successor takes the connections
  std::atomic<bool> more_may_come_ = false;
};

}  // namespace hat
