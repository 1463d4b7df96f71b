// SPDX-License-Identifier: Apache-2.0
// engine/fabric/loop/wire.h: the memory that two loop queue pairs share: a memfd with a ring in
// each direction, and each fabric's table of regions.
//
//   S ── entries[posted++] ──▶ R        R takes them in order: entries[taken++]
//
// In each direction, S is the sender and R the receiver. Only S writes the entries from `taken` to
// `taken` + kRingEntries; only R writes `taken`. An entry is complete when its `turn` has the value
// that turn_of() returns for the entry, so R reads only one cache line to find the next entry.
//
// S performs WRITEs, READs and atomics itself, in R's memory, and sets `touching` meanwhile. When R
// revokes a right, R first announces this in the shared memory, and then does not reuse its memory
// before `touching` is clear. Because of the barriers (barrier.h), S sees the announcement or R
// sees `touching`. In the same way, R sets `gathering` while it copies bytes from S's memory, and
// discards the copied bytes if S has failed meanwhile.
//
// A process that is stopped, or that breaks these rules, can leave `touching` or `gathering` set
// forever. A thread of the other process waits for at most 100 ms (LoopFabric::await_settled()).
// After that, the memory must not be reused until the flag is clear or the process that set the
// flag is gone (QueuePair::settled()).
//
// The processes belong to one user, but a defective peer must not crash this process. If the other
// side can write a word, this side therefore copies the word once, and then checks and uses the
// copy.
#pragma once

#include <atomic>
#include <cstdint>
#include <type_traits>

#include "engine/fabric/fabric.h"

namespace hat::engine::loop {

inline constexpr uint32_t kRingEntries = 256;     // the most outstanding requests in one direction
inline constexpr uint32_t kInlineBytesMax = 240;  // with it, an entry has 4 cache lines

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
  uint32_t bytes;  // the size of the whole message
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

// Returns RingEntry::turn of entry number `index`: 1 plus the number of complete rounds through the
// ring before this entry.
inline uint32_t turn_of(uint64_t index) { return static_cast<uint32_t>(index / kRingEntries) + 1; }

enum class Wake : uint32_t { kNone, kAny, kSolicited };

// One direction of a pair, from the sender S to the receiver R. S reads `rights` and
// `receiver_gone` at each request, and R rarely writes them. They are not in the cache line of
// `taken`, because R writes `taken` at each request.
struct Direction {
  alignas(64) std::atomic<uint32_t> touching;       // written by S: S is accessing R's memory
  alignas(64) std::atomic<uint32_t> sender_failed;  // written by S: S's queue pair is in error
  alignas(64) std::atomic<uint64_t> taken;          // written by R: the entries taken so far
  std::atomic<uint32_t> gathering;                  // written by R: R is copying from S's memory
  std::atomic<uint64_t> refused;  // written by R: refused_at() of the entry that R does not take
  alignas(64) std::atomic<uint32_t> rights;      // written by R: what S may do (kMay…)
  std::atomic<uint32_t> receiver_gone;           // written by R: S must not access R's memory again
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
// Returns the value of Direction::refused if the receiver does not take entry number `index`.
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

// The maximum number of regions of a fabric. It is small, because each side sends one control
// message for each of its regions when a queue pair connects, and all these messages must fit the
// buffer of a unix socket. The row of a region in the table is the region's key modulo kRegionsMax.
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
