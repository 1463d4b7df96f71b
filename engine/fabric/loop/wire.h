// SPDX-License-Identifier: Apache-2.0
// engine/fabric/loop/wire.h: the memory that two loop queue pairs share: a memfd with a ring in
// each direction, and each fabric's table of regions.
//
//   S ── entries[posted++] ──▶ R        R takes them in order: entries[taken++]
//
// In each direction, S is the sender and R the receiver. An entry itself shows that it is complete,
// so that R reads only one cache line to find it: its `turn` is then 1 more than the number of its
// round through the ring. Only S writes the entries from `taken` to `taken` + kRingEntries; only R
// writes `taken`.
//
// S carries out WRITEs, READs and atomics itself, in R's memory, and keeps `touching` set
// meanwhile. A side that revokes a right first announces that in the shared memory. It then does
// not use its own memory for anything else before `touching` is clear (barrier.h: at least one of
// the two sides sees what the other wrote). In the same way R keeps `gathering` set while it copies
// the bytes that entries point to, and discards them if S has failed meanwhile.
//
// A process that is stopped in the middle of this, or that breaks these rules, may keep its flag
// set forever. No thread waits for it longer than 100 ms (LoopFabric::await_settled()). The memory
// is set aside until the flag is clear or the process is gone (QueuePair::settled()).
//
// Both sides are processes of one user. Even so, each side reads the other's words only once and
// checks them, because a broken peer must not break this process.
#pragma once

#include <atomic>
#include <cstdint>
#include <type_traits>

#include "engine/fabric/fabric.h"

namespace hat::engine::loop {

inline constexpr uint32_t kRingEntries = 256;     // most outstanding requests in one direction
inline constexpr uint32_t kInlineBytesMax = 240;  // makes an entry 4 cache lines long

struct RingSegment {
  uint64_t address;  // in S's address space
  uint32_t bytes;
  uint32_t lkey;
};

struct EntryHead {
  Opcode opcode;
  uint8_t inlined;
  uint8_t segment_count;
  uint32_t imm;
  uint32_t bytes;  // of the whole message
};

// A SEND, or the notification of a WRITE_WITH_IMM whose bytes S has already written.
struct alignas(64) RingEntry {
  std::atomic<uint32_t> turn;  // written last
  EntryHead head;
  union {
    RingSegment segments[kSegmentsMax];
    std::byte inlined_bytes[kInlineBytesMax];
  };
};

static_assert(sizeof(RingEntry) == 256);

inline uint32_t turn_of(uint64_t index) { return static_cast<uint32_t>(index / kRingEntries) + 1; }

enum class Wake : uint32_t { kNone, kAny, kSolicited };

// One direction of a pair. R rarely writes `rights` and `receiver_gone`, and S reads both at each
// request. So they are not in the cache line of `taken`, which changes at each request. R rings S's
// doorbell when `taken` has changed.
struct Direction {
  alignas(64) std::atomic<uint32_t> touching;       // written by S: it acts on R's memory
  alignas(64) std::atomic<uint32_t> sender_failed;  // written by S: its queue pair is in error
  alignas(64) std::atomic<uint64_t> taken;          // written by R: entries taken so far
  std::atomic<uint32_t> gathering;                  // written by R: it copies from S's memory
  std::atomic<uint64_t> refused;  // written by R: refused_at() of the entry that it does not take
  alignas(64) std::atomic<uint32_t> rights;      // what S may do: kMay…
  std::atomic<uint32_t> receiver_gone;           // S may touch nothing more
  alignas(64) std::atomic<Wake> wakes_receiver;  // R sets it; S clears it and rings R's doorbell
  std::atomic<Wake> wakes_sender;                // S sets it; R clears it and rings S's doorbell
  alignas(64) RingEntry entries[kRingEntries];
};

// directions[0] leads from the side that created the memory to the other side.
struct Pair {
  Direction directions[2];
};
static_assert(std::atomic<uint64_t>::is_always_lock_free);

enum class Refusal : uint64_t { kNoReceive, kFailed };
inline uint64_t refused_at(uint64_t index, Refusal why) {
  return (index + 1) * 2 + static_cast<uint64_t>(why);
}

inline constexpr uint32_t kMayWrite = 1;
inline constexpr uint32_t kMayRead = 2;
inline constexpr uint32_t kMayAtomic = 4;
inline uint32_t rights_of(RemoteAccess access) {
  return (access.write ? kMayWrite : 0) | (access.read ? kMayRead : 0) |
         (access.atomic ? kMayAtomic : 0);
}

// A region's row is its key modulo kRegionsMax. When a queue pair connects, each side sends one
// control message for each of its regions, and all of these must fit the buffer of a unix socket.
inline constexpr uint32_t kRegionsMax = 128;

struct RegionRow {
  std::atomic<uint32_t> key;  // 0: the row is free; written last, and cleared first
  uint32_t rights;
  uint64_t address;  // in its owner's address space
  uint64_t bytes;
};

struct RegionTable {
  RegionRow rows[kRegionsMax];
};

}  // namespace hat::engine::loop
