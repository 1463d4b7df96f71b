// SPDX-License-Identifier: Apache-2.0
// engine/frame.h: the unit that lanes carry between daemons: a fixed header, then payload.
//
// A link's initiator opens *streams* (one per client connection) and sends calls on them; the
// acceptor answers. Each message may be cut into several frames; the frames of one stream keep
// their order. docs/wire.md section 3 shows the bytes.
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
  kPong,       // both
  kGoAway,     // acceptor: begin no more calls here, I am leaving; initiator: I shall begin none
  kOpen,       // initiator: stream `stream` begins; payload is the service's name
  kCall,       // initiator: first piece of a request; payload is a CallMeta, the name, then bytes
  kReply,      // acceptor: first piece of a reply; payload is bytes
  kMore,       // both: the next piece of the message that the last kCall or kReply began
  kFail,       // acceptor: call `call` has no reply; payload is a FailMeta, then text
  kCancel,     // initiator: nobody waits for call `call` any more
  kRaw,        // both: bytes that are no calls; the stream is opaque from here, in both directions
  kCredit,     // both: only the header's credit
  kEnd,        // both: this side sends no more on the stream; what is owed is still answered
  kReset,      // both: the stream is gone; from the acceptor perhaps with a FailMeta and text
  // RDMA lanes beside the link (engine/link/lane_set.h); `stream` is the lane's number.
  kLaneOpen,    // initiator: payload is a LaneOpen
  kLaneAccept,  // acceptor: payload is a LaneAccept
  kLaneReady,   // initiator: payload is a LaneOffer
  kLaneUp,      // acceptor: both sides may send on it
  kLaneClose,   // both: there is no such lane (any more); payload is the reason as text
  // A stream moves to another lane once everything before has been taken.
  kSync,    // initiator: say when you have taken all frames of the stream before this
  kSynced,  // acceptor: I have
  // Component costs (engine/link/cost_talk.h); since link version 2. `stream` is the talk's number.
  kCostOpen,    // initiator: payload is a CostOpen
  kCostAccept,  // acceptor: payload is a CostCard
  kCostClose,   // both: it is over; payload is the reason as text, empty where it is as it should
  // Since link version 3; by an RDMA lane alone, its first frame. `stream` is the lane's number.
  kLaneNonce,  // initiator: payload is the nonce that kLaneUp gave
  // Since link version 4.
  kBound,  // acceptor: the server has a connection for this stream alone; without the stream, or
           // after the acceptor's kEnd, the client's connection ends, for another would be a new
           // one
  // Since link version 5: the server's connection moves to another stream, on another link.
  kDetach,    // initiator, on a stream that is bound and has no call out: keep the connection
  kDetached,  // acceptor: payload is the ConnectionToken that names it, and the stream is gone; or
              // empty: the connection cannot move, and the stream stays as it is
  kAttach,    // initiator: as kOpen, with a connection that was kept; payload is its
              // ConnectionToken, then the service's name
};

// Frames that only a link's TCP connection carries: of the link itself, about lanes, about costs.
constexpr bool is_of_link(FrameKind kind) {
  return kind <= FrameKind::kGoAway ||
         (kind >= FrameKind::kLaneOpen && kind <= FrameKind::kLaneClose) ||
         (kind >= FrameKind::kCostOpen && kind <= FrameKind::kCostClose);
}

// Header flags.
inline constexpr uint8_t kLastPiece = 1;     // kCall, kReply, kMore: the message ends here
inline constexpr uint8_t kOutcomeShift = 1;  // kReply, kMore with kLastPiece: two bits of outcome
inline constexpr uint8_t kOutcomeMask = 3 << kOutcomeShift;
// The outcome of a reply without payload, all of it in one frame: the server sends no reply to this
// call, as its reply to a later call shows. Peers of every link version take the frame for the end
// of the call.
inline constexpr uint8_t kNoReply = 3 << kOutcomeShift;
// kReply, kMore of a reply: its request is not complete yet, so that no RDMA lane counts on it.
inline constexpr uint8_t kEarly = 8;
// A request's last piece: it is a frame of several messages, whose replies are counted and not
// compared with its CallMeta. Since link version 6.
inline constexpr uint8_t kSeveral = 16;
inline constexpr uint8_t kFlagsKnown = kLastPiece | kOutcomeMask | kEarly | kSeveral;

struct FrameHeader {           // little-endian
  uint32_t payload_bytes = 0;  // at most kFramePayloadBytesMax; RDMA lanes: kMessageBytesMax
  FrameKind kind{};
  uint8_t flags = 0;
  uint16_t replies = 0;  // on a request's last piece: how many replies it calls for; on an
                         // acceptor's frame that is no reply: how many calls it is the end of (RDMA
                         // lanes count what is due); else 0
  uint32_t stream = 0;   // chosen by the initiator, never reused on a link; 0: the link itself
  uint32_t credit = 0;   // bytes of message that the other side may send here beyond before
  uint64_t call = 0;     // 1, 2, 3 … in each stream; 0 where no call is meant
};
static_assert(sizeof(FrameHeader) == 24 && offsetof(FrameHeader, call) == 16);
static_assert(std::has_unique_object_representations_v<FrameHeader>);

struct CallMeta {
  uint16_t name_bytes = 0;     // the function's bare name follows
  uint16_t service_bytes = 0;  // then the service's, where a multiplexed name gave one
  int32_t id = 0;              // the message's sequence id; absent before link version 6
};
static_assert(sizeof(CallMeta) == 8 && std::has_unique_object_representations_v<CallMeta>);
static_assert(offsetof(CallMeta, id) == 4, "older peers send and expect what is before it");

// Names a connection to a server that its daemon keeps for a later stream of the same peer. Random:
// whoever presents it may go on with the connection.
using ConnectionToken = std::array<std::byte, 16>;

struct FailMeta {
  Failure failure{};
  uint8_t delivered = 0;  // 1: the server may have seen the call
};
static_assert(sizeof(FailMeta) == 2);

// Messages travel in pieces of at most this; a piece, its meta and two names fit a frame.
inline constexpr uint32_t kPieceBytesMax = 64 * 1024;
inline constexpr uint32_t kFramePayloadBytesMax = kPieceBytesMax + 1024;
// Each direction of a stream starts with this much credit.
inline constexpr uint32_t kStreamWindowBytes = 256 * 1024;
static_assert(kStreamWindowBytes >= 2 * kPieceBytesMax, "else a piece waits for its own credit");

// nullptr, or what no sender of ours would do: a constant string.
const char* invalid(const FrameHeader& header, uint32_t payload_bytes_max = kFramePayloadBytesMax);

}  // namespace hat::engine
