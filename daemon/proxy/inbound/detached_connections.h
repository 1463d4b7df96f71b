// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/inbound/detached_connections.h: this process's connections to servers that wait for
// another stream.
//
// In a takeover of either daemon a client's stream ends, and another stream on another link
// continues with the same connection to the server. In between, the connection is kept here under a
// random token, which the peer presents with its next stream (kDetach and kAttach in
// engine/frame.h). When this process has a successor, everything kept here goes to the successor.
//
//   keep() or adopt() ──▶ kept ──▶ claim()            by the stream that presents the token
//                           ├─────▶ look()             to the successor, or closed after kKeepTime
//                           └─────▶ the destructor     closes what is left
//
// Bounds   kConnectionsMax in all and kConnectionsOfPeerMax for each peer, each for kKeepTime.
// Trust    Only the peer that was given a token can claim the connection with it: a claim must come
//          from the same node name, and with TLS from a certificate with a name in common.
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

struct DetachedConnection {
  engine::ConnectionToken token{};
  std::string service;
  std::string server;                   // its address, as text
  std::string peer;                     // the node that the stream came from
  std::vector<std::string> peer_names;  // proved by the peer's certificate; may be empty
  std::vector<uint64_t> oneways;        // UpstreamConnection::oneways_
  bool unchecked = true;                // UpstreamConnection's
  std::vector<Descriptor> descriptors;  // as ByteStream::descriptors()
};

// Encodes and decodes everything but the descriptors, for a hatrpcd of the same build or a later
// one.
std::vector<std::byte> encode(const DetachedConnection& connection);
Result<DetachedConnection> decode_detached(std::span<const std::byte> bytes);

class DetachedConnections {
 public:
  static constexpr size_t kConnectionsMax = 4096;
  static constexpr size_t kConnectionsOfPeerMax = 2048;
  static constexpr std::chrono::seconds kKeepTime{30};

  // Keeps the connection under a new token, and returns the token. Returns nothing if a limit
  // is reached, or if the system has no random bytes.
  std::optional<engine::ConnectionToken> keep(DetachedConnection connection, TimePoint now);
  // Keeps a connection that the predecessor kept, under its token. Returns false if a limit is
  // reached.
  bool adopt(DetachedConnection connection, TimePoint now);
  // Removes and returns the connection with that token. Returns nothing if there is none, or if it
  // is not for that peer.
  std::optional<DetachedConnection> claim(const engine::ConnectionToken& token,
                                          const std::string& peer,
                                          std::span<const std::string> peer_names);

  // Says whether the predecessor may still send connections, so that one which is not here yet may
  // arrive.
  void expect_more(bool may_come) { more_may_come_ = may_come; }
  bool more_may_come() const { return more_may_come_; }
  // Gives all connections to the successor, from the next look() on. Until then streams of this
  // process can still claim them, so call it only when no peer opens a stream here any more.
  void give_to(std::shared_ptr<Successor> successor);
  // Sends to the successor what its channel has space for, and closes what has been kept for too
  // long. Must be called about once a second, and more often while there is a successor.
  void sweep(TimePoint now);
  // Returns true if there is a successor and a connection is left that must go to it.
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
  std::shared_ptr<Successor> successor_;  // null: none
  std::atomic<bool> more_may_come_ = false;
};

}  // namespace hat
