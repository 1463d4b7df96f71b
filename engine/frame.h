// SPDX-License-Identifier: Apache-2.0
// engine/frame.h: the unit that lanes carry between daemons: a fixed header, then payload.
//
// A link's initiator opens *streams* (one per client connection) and sends calls on them; the
// acceptor answers. A message may be cut into several frames; the frames of one stream keep their
// order. docs/wire.md section 3 shows the bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "engine/failure.h"

namespace hat::engine {

enum class FrameKind : uint8_t {
  kHello = 1,  // both, first: payload is a Hello (engine/link/hello.h)
  kRefuse,     // acceptor, instead of its hello: payload is the reason as text
  kPing,       // both: answer with a pong
  kPong,       // both: the answer to a ping
  kGoAway,  // acceptor: it is leaving, begin no more calls here; initiator: it begins no more calls
  kOpen,    // initiator: stream `stream` begins; payload is the service's name
  kCall,    // initiator: first piece of a request; payload is a CallMeta, the name, then bytes
  kReply,   // acceptor: first piece of a reply; payload is bytes
  kMore,    // both: the next piece of the message that the last kCall or kReply began
  kFail,    // acceptor: call `call` has no reply; payload is a FailMeta, then text
  kCancel,  // initiator: the caller no longer waits for call `call`
  kRaw,     // both: bytes that are not calls; the stream is opaque from here on, in both directions
  kCredit,  // both: carries only the header's credit
  kEnd,     // both: this side sends no more on the stream; replies that are due still follow
  kReset,   // both: the stream is gone; from the acceptor, payload may be a FailMeta and text
  // RDMA lanes beside the link (engine/link/lane_set.h); `stream` is the lane's number.
  kLaneOpen,    // initiator: payload is a LaneOpen
  kLaneAccept,  // acceptor: payload is a LaneAccept
  kLaneReady,   // initiator: payload is a LaneOffer
  kLaneUp,      // acceptor: both sides may send on the lane
  kLaneClose,   // both: the lane does not exist (any more); payload is the reason as text
  // A stream moves to another lane once everything sent before the move has been taken.
  kSync,    // initiator: send kSynced when all earlier frames of the stream have been taken
  kSynced,  // acceptor: they have been taken
  // Component costs (engine/link/calibration_session.h), since link version 2. `stream` is the
  // number of the calibration session.
  kCostOpen,    // initiator: payload is a CostOpen
  kCostAccept,  // acceptor: payload is a CostCard
  // both: the session is over; payload is the reason as text, empty if it ended as it should.
  kCostClose,
  // Since link version 3: the first frame on an RDMA lane, sent only there. `stream` is the lane's
  // number.
  kLaneNonce,  // initiator: payload is the nonce that kLaneUp carried
  // Since link version 4.
  // acceptor: the server has a connection for this stream alone. If the stream is gone, or after
  // the acceptor's kEnd, the client's connection ends, because another stream would get a new
  // connection to the server.
  kBound,
  // Since link version 5: the server's connection moves to another stream, on another link.
  kDetach,  // initiator, on a bound stream without calls in flight: keep the server's connection
  // acceptor: payload is the ConnectionToken that names the connection, and the stream is gone; or
  // payload is empty, the connection cannot move, and the stream stays as it is.
  kDetached,
  // initiator: as kOpen, with a connection that was kept; payload is its ConnectionToken, then the
  // service's name.
  kAttach,
};

// Returns true for frames that only a link's TCP connection carries: about the link itself, about
// lanes and about costs.
constexpr bool is_of_link(FrameKind kind) {
  return kind <= FrameKind::kGoAway ||
         (kind >= FrameKind::kLaneOpen && kind <= FrameKind::kLaneClose) ||
         (kind >= FrameKind::kCostOpen && kind <= FrameKind::kCostClose);
}

// Header flags.
inline constexpr uint8_t kLastPiece = 1;     // kCall, kReply, kMore: the message ends here
inline constexpr uint8_t kOutcomeShift = 1;  // kReply, kMore with kLastPiece: two bits of outcome
inline constexpr uint8_t kOutcomeMask = 3 << kOutcomeShift;
// The outcome in a kReply frame without payload that says: the server will send no reply to this
// call. The daemon knows it from the server's reply to a later call. Peers of every link version
// treat the frame as the end of the call.
inline constexpr uint8_t kNoReply = 3 << kOutcomeShift;
// kReply, kMore of a reply: the request is not complete yet, so RDMA lanes do not count this as its
// reply.
inline constexpr uint8_t kEarly = 8;
// On a request's last piece: the request is a frame of several messages, whose replies are counted
// and not compared with its CallMeta. Since link version 6.
inline constexpr uint8_t kSeveral = 16;
inline constexpr uint8_t kFlagsKnown = kLastPiece | kOutcomeMask | kEarly | kSeveral;

struct FrameHeader {           // little-endian
  uint32_t payload_bytes = 0;  // at most kFramePayloadBytesMax; RDMA lanes: kMessageBytesMax
  FrameKind kind{};
  uint8_t flags = 0;
  // On a request's last piece: the number of replies that the request calls for. On an acceptor's
  // frame that is not a reply: the number of calls that it ends (RDMA lanes count the replies due).
  // Otherwise 0.
  uint16_t replies = 0;
  uint32_t stream = 0;  // chosen by the initiator, never reused on a link; 0 for the link itself
  uint32_t credit = 0;  // how many more bytes of messages the other side may send on the stream
  uint64_t call = 0;    // 1, 2, 3 … in each stream; 0 if the frame is not about a call
};
static_assert(sizeof(FrameHeader) == 24 && offsetof(FrameHeader, call) == 16);
static_assert(std::has_unique_object_representations_v<FrameHeader>);

struct CallMeta {
  uint16_t name_bytes = 0;     // the function's bare name follows
  uint16_t service_bytes = 0;  // then the service's name, if the message's name has one
  int32_t id = 0;              // the message's sequence id; absent before link version 6
};
static_assert(sizeof(CallMeta) == 8 && std::has_unique_object_representations_v<CallMeta>);
static_assert(offsetof(CallMeta, id) == 4, "older peers send and expect what is before it");

// Names a connection to a server that the server's daemon keeps for a later stream of the same
// peer. The token is random, because a stream that presents it gets the connection.
using ConnectionToken = std::array<std::byte, 16>;

struct FailMeta {
  Failure failure{};
  uint8_t delivered = 0;  // 1: the server may have seen the call
};
static_assert(sizeof(FailMeta) == 2);

// A message travels in pieces of at most this size; a piece, its meta and two names fit into a
// frame.
inline constexpr uint32_t kPieceBytesMax = 64 * 1024;
inline constexpr uint32_t kFramePayloadBytesMax = kPieceBytesMax + 1024;
// Each direction of a stream starts with this much credit.
inline constexpr uint32_t kStreamWindowBytes = 256 * 1024;
static_assert(kStreamWindowBytes >= 2 * kPieceBytesMax, "else a piece waits for its own credit");

// Returns nullptr, or a constant string that says how the header differs from all that our senders
// send.
const char* invalid(const FrameHeader& header, uint32_t payload_bytes_max = kFramePayloadBytesMax);

}  // namespace hat::engine
