// SPDX-License-Identifier: Apache-2.0
// engine/link/hello.h: the hello, the first message that each of two daemons sends on a link (the
// connection between them).
//
// The initiator sends its hello first. The initiator's hello names the daemon that the initiator
// wants to reach, so that another daemon, reached by a wrong address, refuses the link.
// docs/link.md ("Hello") shows the bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/lane.h"
#include "engine/plan/subscription.h"

namespace hat::engine {

// The versions of the link's format, and the frames or fields that each version has added. A daemon
// does not use the additions of a version if its peer has an older version.
//
//   1  the first
//   2  component costs (the kCost… frames)
//   3  Failure::kPermissionDenied; nonces, by which a peer proves that an RDMA lane is its own
//   4  the frame kBound, and the acceptor's kEnd after kBound on a stream that carries calls
//   5  the frames kDetach, kDetached and kAttach
//   6  the id in a CallMeta; the flag kSeveral
//   7  the cores of the acceptor's host, in its hello
//   8  the polling mode in the flags of a kCall frame
//   9  the frames kResume and kResumed; the times in a kReply frame
inline constexpr uint16_t kLinkVersionMin = 1;
inline constexpr uint16_t kLinkVersion = 9;
inline constexpr uint16_t kLinkVersionOfCosts = 2;
inline constexpr uint16_t kLinkVersionOfDenials = 3;
inline constexpr uint16_t kLinkVersionOfNonces = 3;
inline constexpr uint16_t kLinkVersionOfBound = 4;
inline constexpr uint16_t kLinkVersionOfMoves = 5;
inline constexpr uint16_t kLinkVersionOfIds = 6;
inline constexpr uint16_t kLinkVersionOfCores = 7;
inline constexpr uint16_t kLinkVersionOfPollings = 8;
inline constexpr uint16_t kLinkVersionOfResumes = 9;
inline constexpr uint16_t kLinkVersionOfTimes = 9;

struct Hello {
  uint16_t version_min = kLinkVersionMin;
  uint16_t version_max = kLinkVersion;
  // A random number that the sender's process chose when it started.
  uint64_t generation = 0;
  // The legs (ways to move one message over RDMA) that the sender supports: a bit for each Leg. The
  // value 0 means that the sender has no RDMA lanes.
  uint32_t legs = 0;
  std::string node;  // the sender's name; 1 to 255 bytes
  // In an initiator's hello: the name of the daemon that the initiator wants to reach. In an
  // acceptor's hello: empty.
  std::string peer;
  // In an acceptor's hello: the cores of the acceptor's host, from which the initiator plans how
  // the acceptor replies. Absent in an initiator's hello, because an acceptor plans nothing for the
  // initiator, and if the peer's link version is below 7, because such a peer does not accept it.
  // decode_hello() returns them as the peer sent them, which may be impossible (is_possible()).
  std::optional<CoreCounts> cores;

  friend bool operator==(const Hello&, const Hello&) = default;
};

// Returns true if the peer's link version includes the frame kBound. The next six functions do so
// for the frames kDetach, kDetached and kAttach (knows_moves()), for the field CallMeta::id
// (knows_ids()), for nonces (knows_nonces()), for Hello::cores (knows_cores()), for the polling
// mode in a kCall frame (knows_pollings()), and for the frames kResume and kResumed
// (knows_resumes()).
inline bool knows_bound(const Hello& peer) { return peer.version_max >= kLinkVersionOfBound; }
inline bool knows_moves(const Hello& peer) { return peer.version_max >= kLinkVersionOfMoves; }
inline bool knows_ids(const Hello& peer) { return peer.version_max >= kLinkVersionOfIds; }
inline bool knows_nonces(const Hello& peer) { return peer.version_max >= kLinkVersionOfNonces; }
inline bool knows_cores(const Hello& peer) { return peer.version_max >= kLinkVersionOfCores; }
inline bool knows_pollings(const Hello& peer) { return peer.version_max >= kLinkVersionOfPollings; }
inline bool knows_resumes(const Hello& peer) { return peer.version_max >= kLinkVersionOfResumes; }
// Returns true if the peer accepts the flags of a kReply frame that are a part of the times.
inline bool knows_times(const Hello& peer) { return peer.version_max >= kLinkVersionOfTimes; }

// Returns the number of bytes of a CallMeta on a link with this peer: the field `id` is absent on
// links with older peers.
inline size_t call_meta_bytes(const Hello& peer) {
  return knows_ids(peer) ? sizeof(CallMeta) : offsetof(CallMeta, id);
}

// Returns the payload of a kHello frame.
std::vector<std::byte> encode(const Hello& hello);
// Decodes the payload of a kHello frame. An error says how the payload is wrong.
Result<Hello> decode_hello(Bytes payload);

}  // namespace hat::engine
