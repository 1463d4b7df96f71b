// SPDX-License-Identifier: Apache-2.0
// client/ring/layout.h: the memory and the greeting of two processes that share rings, version 1.
//
//   offset                          bytes        content
//   0                               64 KiB       Control
//   64 KiB                          ring_bytes   the connector writes, the acceptor reads
//   64 KiB + ring_bytes             ring_bytes   the acceptor writes, the connector reads
//
// Each ring is a stream of bytes without boundaries: byte number n since the start is at n mod
// ring_bytes. Numbers have native byte order, because both sides run on one host.
//
// Format   docs/shm.md; it says which side may write which field and when, and what each side must
//          not trust. A change of this file is a new version.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace hatrpc::ring {

inline constexpr char kMagic[8] = {'h', 'a', 't', 'r', 'i', 'n', 'g', '\n'};
inline constexpr uint32_t kVersion = 1;

// A multiple of every page size of Linux, because each ring is mapped twice in a row.
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

// What a sleeping side waits for (Lines::waits).
inline constexpr uint32_t kForData = 1;
inline constexpr uint32_t kForSpace = 2;

// Whether a side continues to write (Lines::ended).
enum class End : uint32_t {
  kNone = 0,
  kEnded = 1,    // it has written everything
  kAborted = 2,  // it gave up: what it has written is incomplete
};

// The words that one side writes and the other reads. They are 128 bytes apart, because a core also
// fetches the neighbour of a cache line: a side that spins on one word is not slowed by stores to
// another.
struct Lines {
  alignas(128) std::atomic<uint64_t> written;   // bytes put into its own ring since the start
  std::atomic<uint32_t> ended;                  // a value of End
  alignas(128) std::atomic<uint64_t> consumed;  // bytes taken from the other side's ring
  alignas(128) std::atomic<uint32_t> waits;     // the other side clears the bits that it rings for
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
// descriptor (SCM_RIGHTS). Every later byte is a doorbell.
struct Greeting {
  char magic[8];
  uint32_t version;     // connector: the highest it supports; acceptor: the one in use
  uint32_t refusal;     // acceptor: 0, or a Refusal, after which it closes the socket
  uint64_t ring_bytes;  // connector: its wish, 0 for any; acceptor: the actual size
  uint64_t reserved;    // 0
};
static_assert(sizeof(Greeting) == 32);

enum class Refusal : uint32_t { kNone = 0, kWrongVersion = 1, kMemory = 2 };

}  // namespace hatrpc::ring
