// SPDX-License-Identifier: Apache-2.0
// engine/frame.h: the format of frames. Two daemons send all data to each other in frames. A frame
// has a header of fixed size and a payload. Frames travel on a lane, which is a TCP or RDMA
// connection between the two daemons.
//
// The initiator is the daemon that opened the link between the two; the other daemon is the
// acceptor. For each connection of a client the initiator opens a *stream*, a numbered path over
// the link, and sends calls on this stream. The acceptor answers. One message may be cut into
// several frames. The frames of one stream keep their order. docs/link.md shows the bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "config/hints.h"
#include "engine/failure.h"

namespace hat::engine {

enum class FrameKind : uint8_t {
  // Each comment begins with the side that sends the frame: the initiator, the acceptor, or both.
  kHello = 1,  // both, as the first frame: payload is a Hello (engine/link/hello.h)
  kRefuse,     // acceptor, instead of its hello: payload is the reason as text
  kPing,       // both: the other side must answer with a kPong
  kPong,       // both: the answer to a kPing
  // acceptor: this daemon is shutting down, so the initiator must begin no more calls on this link.
  // initiator, as the answer: no more calls will begin on this link.
  kGoAway,
  kOpen,    // initiator: stream `stream` begins; payload is the service's name
  kCall,    // initiator: first piece of a request; payload is a CallMeta, names, then the piece
  kReply,   // acceptor: first piece of a reply; payload is the piece
  kMore,    // both: the next piece of the message that the last kCall or kReply began
  kFail,    // acceptor: call `call` has no reply; payload is a FailMeta, then text
  kCancel,  // initiator: the caller no longer waits for call `call`
  // both: bytes that are not Thrift messages. From this frame on the stream is opaque: both sides
  // pass bytes through without reading them.
  kRaw,
  kCredit,  // both: grants FrameHeader::credit; has no payload
  // both: the side that sends kEnd sends no more data on the stream, except that the acceptor still
  // sends replies to earlier calls.
  kEnd,
  kReset,  // both: the stream has ended; payload from the acceptor: empty, or a FailMeta and text
  // The next frames create and end RDMA lanes (RDMA connections between the two daemons;
  // engine/link/lane_set.h). `stream` is the lane's number.
  kLaneOpen,    // initiator: payload is a LaneOpen
  kLaneAccept,  // acceptor: payload is a LaneAccept
  kLaneReady,   // initiator: payload is a LaneOffer
  kLaneUp,      // acceptor: both sides may send on the lane
  kLaneClose,   // both: the lane was refused or has ended; payload is the reason as text
  // Before the initiator uses another lane for a stream, the acceptor must have handled all frames
  // of the stream on the old lane. To know this, the initiator sends kSync and waits for kSynced.
  // initiator: the acceptor must answer with kSynced once it has handled all earlier frames of the
  // stream.
  kSync,
  kSynced,  // acceptor: all frames of the stream that came before the kSync have been handled
  // The next three frames measure the costs of RDMA operations between the two daemons
  // (engine/link/calibration_session.h). Since link version 2. `stream` is the number of the
  // calibration session.
  kCostOpen,    // initiator: payload is a CostOpen
  kCostAccept,  // acceptor: payload is a CostCard
  // both: the calibration session is over; payload is the reason as text, empty after a success.
  kCostClose,
  // Since link version 3: the first frame on each RDMA lane, which is sent on the RDMA lane itself.
  // `stream` is the lane's number.
  kLaneNonce,  // initiator: payload is the nonce that kLaneUp carried
  // Since link version 4.
  // acceptor: this stream now has a connection to the server that no other stream uses. Once the
  // stream has ended, or the acceptor has sent kEnd, the initiator ends the client's connection,
  // because another stream would get a new connection to the server, which lacks the state
  // (a login, for example) of the old connection.
  kBound,
  // Since link version 5: the next three frames move a connection to the server from one stream to
  // another stream on another link.
  // initiator, on a stream with kBound and without calls in flight: the acceptor must keep the
  // connection to the server for a later stream.
  kDetach,
  // acceptor: the answer to kDetach. If the connection to the server was kept, the payload is its
  // ConnectionToken, and the stream has ended. If the connection cannot be kept, the payload is
  // empty, and the stream continues.
  kDetached,
  // initiator: a stream begins as with kOpen, but uses a connection to the server that was kept;
  // the payload is the ConnectionToken of this connection, then the service's name.
  kAttach,
  // Since link version 9: the next two frames let a stream continue on the link's TCP connection
  // after the loss of its RDMA lane. Only the TCP connection carries them.
  kResume,  // initiator: the stream's lane is lost; the payload is a ResumeMeta
  // acceptor, instead of a kReset: the stream continues. The payload is LaneCounts::received of the
  // acceptor; the initiator sends later frames, which were lost, again.
  kResumed,
};

// Returns true if only the TCP connection of a link carries frames of this kind: frames about the
// link itself, about RDMA lanes and about measuring costs.
constexpr bool is_of_link(FrameKind kind) {
  return kind <= FrameKind::kGoAway ||
         (kind >= FrameKind::kLaneOpen && kind <= FrameKind::kLaneClose) ||
         (kind >= FrameKind::kCostOpen && kind <= FrameKind::kCostClose);
}

// Header flags.
inline constexpr uint8_t kLastPiece = 1;  // kCall, kReply, kMore: the message ends here
// On kReply and kMore frames with kLastPiece: two bits of the header's flags are the call's
// outcome.
inline constexpr uint8_t kOutcomeShift = 1;
inline constexpr uint8_t kOutcomeMask = 3 << kOutcomeShift;
// The outcome of a kReply frame without payload. Such a frame means that the server will send no
// reply to this call: the acceptor knows this because the server has replied to a later call. Peers
// of every link version treat such a frame as the end of the call.
inline constexpr uint8_t kNoReply = 3 << kOutcomeShift;
// On kReply, and on kMore frames of a reply: the request is not complete yet, so RDMA lanes do not
// count this frame as the reply to the request.
inline constexpr uint8_t kEarly = 8;
// On the last piece of a request: the request is one Thrift frame with several messages. The
// daemons only count the replies, and do not compare them with the request's CallMeta. Since link
// version 6.
inline constexpr uint8_t kSeveral = 16;
// On kCall: two bits of the header's flags are the polling mode in which the acceptor's daemon
// should wait while it serves the call. The initiator's daemon tries this mode, or has found it
// better (`plan: learned`). 0: as the plan of the acceptor's daemon says; otherwise 1 + the number
// of the Polling. Since link version 8.
inline constexpr uint8_t kPollingShift = 5;
inline constexpr uint8_t kPollingMask = 3 << kPollingShift;
static_assert(static_cast<int>(Polling::kBusy) == 0 && static_cast<int>(Polling::kEvent) == 1 &&
                  static_cast<int>(Polling::kAdaptive) == 2,
              "the link's format has these numbers");
constexpr uint8_t polling_flags(std::optional<Polling> polling) {
  return polling ? static_cast<uint8_t>((1 + static_cast<int>(*polling)) << kPollingShift)
                 : uint8_t{0};
}
constexpr std::optional<Polling> polling_in(uint8_t flags) {
  const int number = (flags & kPollingMask) >> kPollingShift;
  if (number == 0) return std::nullopt;
  return static_cast<Polling>(number - 1);
}

// On kReply: three bits of the header's flags, and the field `replies`, say how long the call was
// at the server's host (engine/served_times.h). Since link version 9.
inline constexpr uint8_t kWaitedShift = 4;
inline constexpr uint8_t kWaitedMask = 7 << kWaitedShift;

inline constexpr uint8_t kFlagsKnown =
    kLastPiece | kOutcomeMask | kEarly | kSeveral | kPollingMask | kWaitedMask;

struct FrameHeader {           // little-endian
  uint32_t payload_bytes = 0;  // at most kFramePayloadBytesMax, or kMessageBytesMax on RDMA lanes
  FrameKind kind{};
  uint8_t flags = 0;
  // On the last piece of a request: the number of replies that the request expects. On a frame of
  // the acceptor that is not a reply: the number of calls that the frame ends without a reply. On
  // kReply: a time (engine/served_times.h). Otherwise 0. RDMA lanes count the calls that have not
  // ended yet by this field, except on kReply, and by the last pieces of replies.
  uint16_t replies = 0;
  // The number of a stream, which the initiator chooses anew for each stream of a session. In
  // frames about lanes: the lane's number. In frames about the link itself: 0.
  uint32_t stream = 0;
  // The receiver of this frame may send this number of bytes on the stream, in addition to its
  // earlier credit.
  uint32_t credit = 0;
  uint64_t call = 0;  // 1, 2, 3 … in each stream; 0 if the frame is not about a call
};
static_assert(sizeof(FrameHeader) == 24 && offsetof(FrameHeader, call) == 16);
static_assert(std::has_unique_object_representations_v<FrameHeader>);

struct CallMeta {
  uint16_t name_bytes = 0;  // the length of the function's name, which follows this struct
  // The length of the service's name, which follows the function's name. 0: no service is named.
  uint16_t service_bytes = 0;
  int32_t id = 0;  // the message's sequence id; absent before link version 6
};
static_assert(sizeof(CallMeta) == 8 && std::has_unique_object_representations_v<CallMeta>);
static_assert(offsetof(CallMeta, id) == 4, "older peers send and expect what is before it");

// Names a connection to a server that the server's daemon keeps for a later stream of the same
// peer. A stream that presents the token gets the connection, so the token is random and cannot be
// guessed.
using ConnectionToken = std::array<std::byte, 16>;

struct FailMeta {
  Failure failure{};
  uint8_t delivered = 0;  // 1: the server may have seen the call
};
static_assert(sizeof(FailMeta) == 2);

// The frames of one stream that one side has sent on RDMA lanes and received from RDMA lanes since
// the stream began. If `sent` of each side equals `received` of the other side, no frame was lost
// or is on its way.
struct LaneCounts {
  uint64_t sent = 0;
  uint64_t received = 0;
};
static_assert(sizeof(LaneCounts) == 16 && std::has_unique_object_representations_v<LaneCounts>);

// Asks whether a stream can continue. The initiator can send the newest `kept` of the frames that
// `counts.sent` counts again.
struct ResumeMeta {
  LaneCounts counts;
  uint64_t kept = 0;
};
static_assert(sizeof(ResumeMeta) == 24 && std::has_unique_object_representations_v<ResumeMeta>);

// A message travels in pieces of at most kPieceBytesMax bytes. One frame can hold a piece, its
// CallMeta, and the names of a function and a service.
inline constexpr uint32_t kPieceBytesMax = 64 * 1024;
inline constexpr uint32_t kFramePayloadBytesMax = kPieceBytesMax + 1024;
// The credit with which each direction of a stream starts: the bytes that a side may send before
// the other side grants more credit.
inline constexpr uint32_t kStreamWindowBytes = 256 * 1024;
static_assert(kStreamWindowBytes >= 2 * kPieceBytesMax, "else a piece waits for its own credit");

// Returns nullptr if the header is valid. Otherwise returns a constant string that says how the
// header breaks the format. A payload may have at most `payload_bytes_max` bytes.
const char* invalid(const FrameHeader& header, uint32_t payload_bytes_max = kFramePayloadBytesMax);

}  // namespace hat::engine
