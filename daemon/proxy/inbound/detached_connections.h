// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/inbound/detached_connections.h: this process's connections to servers between two
// streams.
//
// In a takeover of either daemon a client's stream ends, and another one, on another link, goes on
// with the same connection to the server. In between, the connection is kept here, under a random
// token that the peer presents with its next stream (kDetach and kAttach in engine/frame.h). When
// this process has a successor, everything kept here goes to the successor.
//
//   keep() or adopt() ──▶ kept ──▶ claim()            by the stream that presents the token
//                           ├─────▶ look()             to the successor, or closed after kKeepTime
//                           └─────▶ the destructor     closes what is left
//
// Bounds   kConnectionsMax in all and kConnectionsOfPeerMax for each peer, each for kKeepTime.
// Trust    A token opens a connection only for the peer that it was given to: for the same node
//          name, and with TLS for a certificate that has a name in common.
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
  std::vector<std::string> peer_names;  // what the peer's certificate proves; empty: nothing
  std::vector<uint64_t> oneways;        // UpstreamConnection's: an unknown one may get an answer
  bool unchecked = true;                // UpstreamConnection's
  std::vector<Descriptor> descriptors;  // as Stream::descriptors()
};

// All but the descriptors, for another hatrpcd of the same build or a later one.
std::vector<std::byte> encode(const DetachedConnection& connection);
Result<DetachedConnection> decode_detached(std::span<const std::byte> bytes);

class DetachedConnections {
 public:
  static constexpr size_t kConnectionsMax = 4096;
  static constexpr size_t kConnectionsOfPeerMax = 2048;
  static constexpr std::chrono::seconds kKeepTime{30};

  // Keeps the connection under a new token, which it returns. Nothing: there is no room.
  std::optional<engine::ConnectionToken> keep(DetachedConnection connection, TimePoint now);
  // Keeps one that the predecessor kept, under its token. Returns false if there is no room.
  bool adopt(DetachedConnection connection, TimePoint now);
  // Takes out the connection with that token. Nothing: there is none, or it is not for that peer.
  std::optional<DetachedConnection> claim(const engine::ConnectionToken& token,
                                          const std::string& peer,
                                          std::span<const std::string> peer_names);

  // Whether a predecessor may still send connections: one that is not here yet may come.
  void expect_more(bool may_come) { more_may_come_ = may_come; }
  bool more_may_come() const { return more_may_come_; }
  // From the next look() on, connections go to the successor. Until then, streams of this process
  // can still claim them: so no peer may open one here any more.
  void give_to(std::shared_ptr<Successor> successor);
  // Sends to the successor what it has room for, and closes what has been kept for too long. To be
  // called about once a second, and more often while there is a successor.
  void look(TimePoint now);
  // There is a successor, and something is left to be given to it.
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
  std::shared_ptr<Successor> successor_;  // null: there is none
  std::atomic<bool> more_may_come_ = false;
};

}  // namespace hat
