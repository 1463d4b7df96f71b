// SPDX-License-Identifier: Apache-2.0
// engine/rdma/wire.h: what the two sides of an RDMA lane write into each other's memory and tell
// each other. docs/protocols.md draws it, leg by leg.
//
// A message is an Envelope and its payload. The messages of a direction are numbered 0, 1, 2 …;
// message n has slot n modulo `slots` on both sides, whichever leg moves it, so that a slot is free
// once the message `slots` before has been delivered. `delivered` says so, in whatever is sent.
//
// A SEND that is no message is a note: an Envelope, for some with a Place behind it. An immediate
// is the leg (4 bits) and the message's number (28 bits).
//
// Little-endian, as everything that hatrpc writes.
#pragma once

#include <cstdint>
#include <type_traits>

#include "engine/fabric/fabric.h"
#include "engine/frame.h"
#include "engine/protocols.h"

namespace hat::engine {

enum class NoteKind : uint8_t {
  kMessage = 1,  // no note: the message itself
  kNotice,       // message `sequence` lies in your window
  kAnnounce,     // rendezvous: I have message `sequence`; read_rndv: here (Place)
  kOffer,        // write_rndv: put your message `sequence` here (Place)
  kDone,         // read_rndv: I have read your message `sequence`
  kCredit,       // only `delivered`
  kTell,         // tell me (kCredit) once you have got message `sequence`
  kPush,         // fetch: I read no more: send me your messages from `sequence` on
  kLook,         // bitmap: look at my bitmap
  kAsleep,       // bitmap: I look no more, until kLook
};

struct Envelope {
  uint32_t sequence = 0;
  uint32_t delivered = 0;  // messages of the other direction that have been, modulo 2^32
  NoteKind kind{};
  Leg leg{};
  uint8_t fetch_epoch = 0;  // how often the sender of this began or stopped to fetch; odd: it does
  uint8_t reserved = 0;
  uint32_t reserved_too = 0;
  uint64_t checksum = 0;  // of frame and payload, seeded with `sequence`: legs whose messages are
                          // found by looking at memory
  FrameHeader frame;      // messages and announcements
};
static_assert(sizeof(Envelope) == 48 && std::has_unique_object_representations_v<Envelope>);

// Memory of the side that tells of it.
struct Place {
  uint64_t address = 0;
  uint32_t bytes = 0;
  uint32_t rkey = 0;
};
static_assert(sizeof(Place) == 16);

inline constexpr uint32_t kEagerBytesMax = 4096;  // payload of a SEND (HatRPC 4.3)
inline constexpr uint32_t kReceiveBytes = sizeof(Envelope) + kEagerBytesMax;
inline constexpr uint32_t kMessageBytesMax = 64 * 1024 * 1024;
inline constexpr uint32_t kNoteBytesMax = sizeof(Envelope) + sizeof(Place);

inline constexpr uint32_t kImmSequenceBits = 28;
constexpr uint32_t imm_of(Leg leg, uint64_t sequence) {
  return static_cast<uint32_t>(leg) << kImmSequenceBits |
         (static_cast<uint32_t>(sequence) & ((1u << kImmSequenceBits) - 1));
}

// How a side sends, told to the other before a lane is made.
struct LaneShape {
  Leg leg = Leg::kSend;                  // for what fits a slot
  Leg beyond = Leg::kWriteRndv;          // for what does not
  uint16_t slots = 64;                   // messages in flight; a power of two
  uint32_t slot_bytes = kEagerBytesMax;  // of payload
};
static_assert(sizeof(LaneShape) == 8);

// Messages of a lane and direction in buffers of their own, at once.
inline constexpr uint32_t kRendezvousMax = 8;

inline constexpr uint32_t kSlotsMin = 4;
inline constexpr uint32_t kSlotsMax = 1024;
inline constexpr uint32_t kSlotBytesMax = 1024 * 1024;

// nullptr, or what no side of ours would ask for: a constant string.
const char* invalid(const LaneShape& shape);

// From slot to slot.
constexpr uint32_t stride(const LaneShape& shape) {
  return (sizeof(Envelope) + shape.slot_bytes + 63) / 64 * 64;
}

// All slots of a side.
constexpr size_t bytes_of(const LaneShape& shape) { return size_t{shape.slots} * stride(shape); }

// What a side opens for a lane, told once both know each other's shapes.
struct LaneOffer {
  QueuePairAddress queue_pair{};
  Place slots;                     // where its own messages lie, for who fetches
  Place window;                    // where the other side's messages go
  Place sender_extra;              // what its sending leg has besides: indexes, a bitmap
  Place receiver_extra;            // what the other side's leg has here besides: a bitmap
  uint64_t message_bytes_max = 0;  // that it can receive
};
static_assert(sizeof(LaneOffer) == kQueuePairAddressBytes + 4 * sizeof(Place) + sizeof(uint64_t));

}  // namespace hat::engine
