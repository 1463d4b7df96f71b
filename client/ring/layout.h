// SPDX-License-Identifier: Apache-2.0
// client/ring/layout.h: what two processes share when they talk over rings: version 1.
//
//   offset                          bytes        what
//   0                               64 KiB       Control
//   64 KiB                          ring_bytes   what the connector writes and the acceptor reads
//   64 KiB + ring_bytes             ring_bytes   what the acceptor writes and the connector reads
//
// Each ring is a stream of bytes without boundaries: byte number n since the start lies at
// n mod ring_bytes. Numbers are native: both sides are on one host.
//
// Format   docs/shm.md, which says who may write what and when, and what each side must not
//          believe. A change of this file is a new version.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace hatrpc::ring {

inline constexpr char kMagic[8] = {'h', 'a', 't', 'r', 'i', 'n', 'g', '\n'};
inline constexpr uint32_t kVersion = 1;

// A multiple of every page size that Linux has, as each ring is mapped twice in a row.
inline constexpr uint64_t kControlBytes = 64 * 1024;
inline constexpr uint64_t kRingBytesMin = 64 * 1024;
inline constexpr uint64_t kRingBytesDefault = 256 * 1024;
inline constexpr uint64_t kRingBytesMax = 1024 * 1024 * 1024;

inline constexpr bool valid_ring_bytes(uint64_t bytes) {
  return std::has_single_bit(bytes) && bytes >= kRingBytesMin && bytes <= kRingBytesMax;
}

enum class Side : uint32_t { kConnector = 0, kAcceptor = 1 };

inline constexpr Side other(Side side) {
  return side == Side::kConnector ? Side::kAcceptor : Side::kConnector;
}

// What a side waits for, asleep (Lines::waits).
inline constexpr uint32_t kForData = 1;
inline constexpr uint32_t kForRoom = 2;

// Whether a side writes on (Lines::ended).
enum class End : uint32_t {
  kNone = 0,
  kEnded = 1,    // what it has written is all
  kAborted = 2,  // and it is not all that there should have been
};

// What one side writes and the other reads. Apart, and away from neighbours that a core fetches
// along: who spins on one must not be slowed by what is written to another.
struct Lines {
  alignas(128) std::atomic<uint64_t> written;   // bytes put into its ring since the start
  std::atomic<uint32_t> ended;                  // an End
  alignas(128) std::atomic<uint64_t> consumed;  // bytes taken from the other's ring
  alignas(128) std::atomic<uint32_t> waits;     // the other side takes away the bits it rings for
};

struct Control {
  char magic[8];
  uint32_t version;
  uint32_t reserved;
  uint64_t ring_bytes;
  Lines sides[2];  // by Side
};

static_assert(std::atomic<uint64_t>::is_always_lock_free);
static_assert(sizeof(Lines) == 384 && offsetof(Control, sides) == 128);
static_assert(sizeof(Control) <= kControlBytes);

// The first and only message of each side on the socket; the acceptor's carries the memory's
// descriptor (SCM_RIGHTS). Every byte after it is a bell.
struct Greeting {
  char magic[8];
  uint32_t version;     // connector: the highest it speaks; acceptor: the one they speak
  uint32_t refusal;     // acceptor: 0, or a Refusal, and then nothing follows
  uint64_t ring_bytes;  // connector: wished for, 0 for any; acceptor: as they are
  uint64_t reserved;    // 0
};
static_assert(sizeof(Greeting) == 32);

enum class Refusal : uint32_t { kNone = 0, kWrongVersion = 1, kMemory = 2 };

}  // namespace hatrpc::ring
