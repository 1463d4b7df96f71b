// SPDX-License-Identifier: Apache-2.0
// engine/rdma/wire.h: the bytes that the two sides of an RDMA lane send and write to each other.
// docs/protocols.md draws them, leg by leg.
//
// A message is an Envelope and its payload. The messages of a direction are numbered 0, 1, 2 …;
// message n uses slot n modulo `slots` on both sides, whichever leg moves it. So the slot for
// message n is free once message n - `slots` has been delivered. The field `delivered` of every
// envelope is the number of messages that the envelope's sender has delivered.
//
// A SEND that is not a message is a control message: an Envelope, which a RemoteBuffer follows in
// some kinds. An immediate has the leg in its upper 4 bits, and the low 28 bits of the message's
// number.
//
// All numbers are little-endian.
#pragma once

#include <cstdint>
#include <type_traits>

#include "engine/fabric/fabric.h"
#include "engine/frame.h"
#include "engine/protocols.h"

namespace hat::engine {

// The kinds of control messages. S is the sender of message `sequence` (a field of the control
// message), and R is its receiver.
enum class ControlKind : uint8_t {
  kMessage = 1,  // not a control message: the message itself
  // From S, legs write_send and chained_write_send: message `sequence` is in R's window.
  kNotice,
  // From S, rendezvous: S has message `sequence`. With read_rndv, R can READ the message from the
  // RemoteBuffer.
  kAnnounce,
  kOffer,       // from R, write_rndv: S must WRITE message `sequence` into the RemoteBuffer
  kDone,        // from R, leg read_rndv: R has READ message `sequence`
  kCredit,      // from R: only reports `delivered`
  kTell,        // from S: asks for a kCredit once R has delivered message `sequence`
  kPush,        // from R, fetch: R READs no more, and S must push all messages from `sequence` on
  kReadBitmap,  // from S, bitmap: asks R to READ S's bitmap
  kAsleep,      // from R, bitmap: R does not READ S's bitmap until the next kReadBitmap
};

struct Envelope {
  uint32_t sequence = 0;
  uint32_t delivered = 0;  // messages of the other direction delivered so far, modulo 2^32
  ControlKind kind{};
  Leg leg{};
  // For the fetch legs: increases by 1 each time that the envelope's sender begins or ends to READ
  // messages. While the number is odd, the envelope's sender READs messages.
  uint8_t fetch_epoch = 0;
  uint8_t reserved = 0;
  uint32_t reserved_too = 0;
  // The checksum of frame and payload, seeded with `sequence` (engine/rdma/sum.h). Used only by
  // legs whose receiver finds messages by polling memory.
  uint64_t checksum = 0;
  FrameHeader frame;  // set in messages and announcements
};
static_assert(sizeof(Envelope) == 48 && std::has_unique_object_representations_v<Envelope>);

// Memory of the side that sends this struct; the other side can access the memory.
struct RemoteBuffer {
  uint64_t address = 0;
  uint32_t bytes = 0;
  uint32_t rkey = 0;
};
static_assert(sizeof(RemoteBuffer) == 16);

inline constexpr uint32_t kEagerBytesMax = 4096;  // the largest payload of a SEND (HatRPC 4.3)
inline constexpr uint32_t kReceiveBytes = sizeof(Envelope) + kEagerBytesMax;
inline constexpr uint32_t kMessageBytesMax = 64 * 1024 * 1024;
inline constexpr uint32_t kControlBytesMax = sizeof(Envelope) + sizeof(RemoteBuffer);

inline constexpr uint32_t kImmSequenceBits = 28;
constexpr uint32_t imm_of(Leg leg, uint64_t sequence) {
  return static_cast<uint32_t>(leg) << kImmSequenceBits |
         (static_cast<uint32_t>(sequence) & ((1u << kImmSequenceBits) - 1));
}

// How one side of a lane sends. The two sides exchange their shapes before they create the lane.
struct LaneShape {
  Leg leg = Leg::kSend;                  // the leg for messages that fit a slot
  Leg beyond = Leg::kWriteRndv;          // the leg for larger messages
  uint16_t slots = 64;                   // the most messages in flight; a power of two
  uint32_t slot_bytes = kEagerBytesMax;  // the largest payload of a slot
};
static_assert(sizeof(LaneShape) == 8);

// The maximum number of messages, per lane and direction, that are in buffers of their own at the
// same time.
inline constexpr uint32_t kRendezvousMax = 8;

inline constexpr uint32_t kSlotsMin = 4;
inline constexpr uint32_t kSlotsMax = 1024;
inline constexpr uint32_t kSlotBytesMax = 1024 * 1024;

// Returns nullptr if `shape` is valid, or else a constant string that says why it is not.
const char* invalid(const LaneShape& shape);

// Returns the distance in bytes from one slot to the next.
constexpr uint32_t stride(const LaneShape& shape) {
  return (sizeof(Envelope) + shape.slot_bytes + 63) / 64 * 64;
}

// Returns the size in bytes of all slots of one side.
constexpr size_t bytes_of(const LaneShape& shape) { return size_t{shape.slots} * stride(shape); }

// The queue pair and the memory that one side opens to the other for a lane. The two sides exchange
// their offers after their shapes.
struct LaneOffer {
  QueuePairAddress queue_pair{};
  // Has the messages that the offering side sends; with a fetch leg, the other side READs them.
  RemoteBuffer slots;
  RemoteBuffer window;             // receives the other side's messages
  RemoteBuffer sender_extra;       // for the offering side's messages: an index or a bitmap
  RemoteBuffer receiver_extra;     // for the other side's messages: a bitmap
  uint64_t message_bytes_max = 0;  // the largest payload that the offering side can receive
};
static_assert(sizeof(LaneOffer) ==
              kQueuePairAddressBytes + 4 * sizeof(RemoteBuffer) + sizeof(uint64_t));

}  // namespace hat::engine
