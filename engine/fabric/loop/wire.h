// SPDX-License-Identifier: Apache-2.0
// engine/fabric/loop/wire.h: what two loop queue pairs share: a memfd with a ring in each
// direction, and each fabric's table of regions.
//
//   S ── entries[posted++] ──▶ R        R takes them in order: entries[taken++]
//
// An entry says itself when it is there, so that R looks at one line of memory: its `turn` is 1
// more than the number of its round through the ring. S alone writes the entries from `taken` to
// `taken` + kRingEntries; R alone writes `taken`.
//
// S works on R's memory itself (WRITE, READ, atomics), and holds `touching` up meanwhile: whoever
// takes a right away first says so, and does not use the memory for anything else before `touching`
// is down (barrier.h: one of the two always sees the other). In the same way R holds `gathering` up
// while it copies what entries point to, and keeps nothing of it if S has failed meanwhile.
//
// A process that is stopped in the middle, or breaks these rules, keeps its hand up for as long as
// it likes. Nobody waits for it: the memory is put aside, until the hand is down or the process is
// gone (QueuePair::settled()).
//
// Both sides are processes of one user; what the other wrote is still read once and checked, for a
// broken peer must not break this process.
#pragma once

#include <atomic>
#include <cstdint>
#include <type_traits>

#include "engine/fabric/fabric.h"

namespace hat::engine::loop {

inline constexpr uint32_t kRingEntries = 256;     // requests out in one direction, at most
inline constexpr uint32_t kInlineBytesMax = 240;  // an entry is 4 lines of cache

struct RingSegment {
  uint64_t address;  // in S
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

// A SEND, or the notice of a WRITE_WITH_IMM.
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

struct Direction {
  alignas(64) std::atomic<uint32_t> touching;       // S
  alignas(64) std::atomic<uint32_t> sender_failed;  // S: its queue pair is in error
  alignas(64) std::atomic<uint64_t> taken;          // R
  std::atomic<uint32_t> gathering;                  // R: it copies out of S's memory
  std::atomic<uint64_t> refused;  // R: refused_at() of the entry that it does not take
  // R, hardly ever: S reads these at each request, and `taken` changes at each.
  alignas(64) std::atomic<uint32_t> rights;      // what S may do: kMay…
  std::atomic<uint32_t> receiver_gone;           // S may touch nothing more
  alignas(64) std::atomic<Wake> wakes_receiver;  // R sets, S takes: ring R's doorbell
  std::atomic<Wake> wakes_sender;                // S sets, R takes: the same for `taken`
  alignas(64) RingEntry entries[kRingEntries];
};

// directions[0]: from the side that made the memory.
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

// A key's remainder is its row. All regions are told when a queue pair connects: they must fit a
// unix socket's buffer.
inline constexpr uint32_t kRegionsMax = 128;

struct RegionRow {
  std::atomic<uint32_t> key;  // 0: there is none; written last, and first taken away
  uint32_t rights;
  uint64_t address;  // in its owner
  uint64_t bytes;
};

struct RegionTable {
  RegionRow rows[kRegionsMax];
};

}  // namespace hat::engine::loop
