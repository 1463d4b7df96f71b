// SPDX-License-Identifier: Apache-2.0
// engine/rdma/wire.h: the bytes that the two sides of an RDMA lane send and write to each other.
// docs/protocols.md draws them, leg by leg.
//
// A message is an Envelope and its payload. The messages of a direction are numbered 0, 1, 2 …;
// message n uses slot n modulo `slots` on both sides, whichever leg moves it. So its slot is free
// once message n - `slots` has been delivered. Every envelope says in `delivered` how many messages
// its sender has delivered.
//
// A SEND that is not a message is a control message: an Envelope, followed by a RemoteBuffer in
// some kinds. An immediate is the leg (4 bits) and the message's number (28 bits).
//
// Little-endian, like everything that hatrpc writes.
#pragma once

#include <cstdint>
#include <type_traits>

#include "engine/fabric/fabric.h"
#include "engine/frame.h"
#include "engine/protocols.h"

namespace hat::engine {

// The kinds of control messages. S is the sender of message `sequence`, R its receiver.
enum class ControlKind : uint8_t {
  kMessage = 1,  // not a control message: the message itself
  kNotice,       // from S, write_send: message `sequence` is in R's window
  kAnnounce,     // from S, rendezvous: S has message `sequence`; read_rndv: in this RemoteBuffer
  kOffer,        // from R, write_rndv: S is to WRITE message `sequence` into this RemoteBuffer
  kDone,         // from R, read_rndv: R has READ message `sequence`
  kCredit,       // from R: carries only `delivered`
  kTell,         // from S: asks for a kCredit once R has delivered message `sequence`
  kPush,         // from R, fetch: R READs no more; asks S to push its messages from `sequence` on
  kReadBitmap,   // from S, bitmap: asks R to READ S's bitmap
  kAsleep,       // from R, bitmap: R does not READ S's bitmap until the next kReadBitmap
};

struct Envelope {
  uint32_t sequence = 0;
  uint32_t delivered = 0;  // messages of the other direction delivered so far, modulo 2^32
  ControlKind kind{};
  Leg leg{};
  // Counts how often the envelope's sender has begun and ended to READ messages by itself (leg
  // fetch). While the number is odd, it READs them.
  uint8_t fetch_epoch = 0;
  uint8_t reserved = 0;
  uint32_t reserved_too = 0;
  // Of frame and payload, seeded with `sequence`. Only for legs whose receiver finds messages by
  // polling memory.
  uint64_t checksum = 0;
  FrameHeader frame;  // of messages and announcements
};
static_assert(sizeof(Envelope) == 48 && std::has_unique_object_representations_v<Envelope>);

// A remote buffer: memory of the side that sends its address.
struct RemoteBuffer {
  uint64_t address = 0;
  uint32_t bytes = 0;
  uint32_t rkey = 0;
};
static_assert(sizeof(RemoteBuffer) == 16);

inline constexpr uint32_t kEagerBytesMax = 4096;  // payload of a SEND (HatRPC 4.3)
inline constexpr uint32_t kReceiveBytes = sizeof(Envelope) + kEagerBytesMax;
inline constexpr uint32_t kMessageBytesMax = 64 * 1024 * 1024;
inline constexpr uint32_t kControlBytesMax = sizeof(Envelope) + sizeof(RemoteBuffer);

inline constexpr uint32_t kImmSequenceBits = 28;
constexpr uint32_t imm_of(Leg leg, uint64_t sequence) {
  return static_cast<uint32_t>(leg) << kImmSequenceBits |
         (static_cast<uint32_t>(sequence) & ((1u << kImmSequenceBits) - 1));
}

// How one side sends. The two sides exchange their shapes before they create a lane.
struct LaneShape {
  Leg leg = Leg::kSend;                  // for messages that fit a slot
  Leg beyond = Leg::kWriteRndv;          // for larger messages
  uint16_t slots = 64;                   // messages in flight; a power of two
  uint32_t slot_bytes = kEagerBytesMax;  // of payload
};
static_assert(sizeof(LaneShape) == 8);

// How many messages per lane and direction may be in buffers of their own at once.
inline constexpr uint32_t kRendezvousMax = 8;

inline constexpr uint32_t kSlotsMin = 4;
inline constexpr uint32_t kSlotsMax = 1024;
inline constexpr uint32_t kSlotBytesMax = 1024 * 1024;

// Returns nullptr, or a constant string that says why our daemons never ask for this shape.
const char* invalid(const LaneShape& shape);

// Returns the distance from one slot to the next.
constexpr uint32_t stride(const LaneShape& shape) {
  return (sizeof(Envelope) + shape.slot_bytes + 63) / 64 * 64;
}

// Returns the size of all slots of one side.
constexpr size_t bytes_of(const LaneShape& shape) { return size_t{shape.slots} * stride(shape); }

// The queue pair and the memory that one side opens to the other for a lane. The two sides exchange
// their offers once each knows the other's shape.
struct LaneOffer {
  QueuePairAddress queue_pair{};
  RemoteBuffer slots;              // has the messages that the offering side sends; on a lane
                                   // with a fetch leg the other side READs them there
  RemoteBuffer window;             // receives the other side's messages
  RemoteBuffer sender_extra;       // other memory of its sending leg: indexes or a bitmap
  RemoteBuffer receiver_extra;     // other memory here of the other side's sending leg: a bitmap
  uint64_t message_bytes_max = 0;  // the largest payload that it can receive
};
static_assert(sizeof(LaneOffer) ==
              kQueuePairAddressBytes + 4 * sizeof(RemoteBuffer) + sizeof(uint64_t));

}  // namespace hat::engine
