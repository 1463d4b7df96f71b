// SPDX-License-Identifier: Apache-2.0
// engine/link/hello.h: what two daemons tell each other before anything else.
//
// Both send one; the initiator first. It names the node it wants to reach, so that a wrong address
// is refused rather than served. docs/wire.md section 3.1 shows the bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/lane.h"

namespace hat::engine {

// 1: the first. 2: component costs (kCostOpen and its like), which are never sent to a peer of 1.
// 3: Failure::kPermissionDenied, likewise; and nonces of RDMA lanes. 4: kBound, likewise, and after
// it the acceptor's kEnd on a stream of calls. 5: kDetach, kDetached and kAttach, likewise. 6: the
// id in a CallMeta, and kSeveral.
inline constexpr uint16_t kLinkVersionMin = 1;
inline constexpr uint16_t kLinkVersion = 6;
inline constexpr uint16_t kLinkVersionOfCosts = 2;
inline constexpr uint16_t kLinkVersionOfDenials = 3;
inline constexpr uint16_t kLinkVersionOfNonces = 3;
inline constexpr uint16_t kLinkVersionOfBound = 4;
inline constexpr uint16_t kLinkVersionOfMoves = 5;
inline constexpr uint16_t kLinkVersionOfIds = 6;

struct Hello {
  uint16_t version_min = kLinkVersionMin;
  uint16_t version_max = kLinkVersion;
  uint64_t generation = 0;  // of the sender's process: tells a restarted peer from the old one
  uint32_t legs = 0;        // that I can do on RDMA lanes: a bit for each Leg; 0: I have no lanes
  std::string node;         // who I am; 1 to 255 bytes
  std::string peer;         // who I take you for; empty from an acceptor

  friend bool operator==(const Hello&, const Hello&) = default;
};

inline bool knows_bound(const Hello& peer) { return peer.version_max >= kLinkVersionOfBound; }
inline bool knows_moves(const Hello& peer) { return peer.version_max >= kLinkVersionOfMoves; }
inline bool knows_ids(const Hello& peer) { return peer.version_max >= kLinkVersionOfIds; }
inline bool knows_nonces(const Hello& peer) { return peer.version_max >= kLinkVersionOfNonces; }

// The bytes of a CallMeta on a link with the peer.
inline size_t call_meta_bytes(const Hello& peer) {
  return knows_ids(peer) ? sizeof(CallMeta) : offsetof(CallMeta, id);
}

std::vector<std::byte> encode(const Hello& hello);
Result<Hello> decode_hello(Bytes payload);

}  // namespace hat::engine
