// SPDX-License-Identifier: Apache-2.0
// engine/link/hello.h: the hello, which two daemons send to each other before anything else.
//
// The initiator sends its hello first. That hello names the node that the initiator wants to reach,
// so a daemon that was reached by a wrong address refuses the link. docs/wire.md section 3.1 shows
// the bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/lane.h"

namespace hat::engine {

// The link versions, and what each one has added. A daemon uses none of these additions with a peer
// of an older version.
//
//   1  the first
//   2  component costs (the kCost… frames)
//   3  Failure::kPermissionDenied; nonces of RDMA lanes
//   4  kBound, and after it the acceptor's kEnd on a stream of calls
//   5  kDetach, kDetached and kAttach
//   6  the id in a CallMeta; kSeveral
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
  uint64_t generation = 0;  // of the sender's process: differs once the sender has restarted
  uint32_t legs = 0;        // of the sender's RDMA lanes: a bit for each Leg; 0: it has no lanes
  std::string node;         // the sender's name; 1 to 255 bytes
  std::string peer;         // the name of the node that an initiator wants; empty from an acceptor

  friend bool operator==(const Hello&, const Hello&) = default;
};

inline bool knows_bound(const Hello& peer) { return peer.version_max >= kLinkVersionOfBound; }
inline bool knows_moves(const Hello& peer) { return peer.version_max >= kLinkVersionOfMoves; }
inline bool knows_ids(const Hello& peer) { return peer.version_max >= kLinkVersionOfIds; }
inline bool knows_nonces(const Hello& peer) { return peer.version_max >= kLinkVersionOfNonces; }

// Returns the size of a CallMeta on a link with this peer.
inline size_t call_meta_bytes(const Hello& peer) {
  return knows_ids(peer) ? sizeof(CallMeta) : offsetof(CallMeta, id);
}

std::vector<std::byte> encode(const Hello& hello);
Result<Hello> decode_hello(Bytes payload);

}  // namespace hat::engine
