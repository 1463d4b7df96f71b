// SPDX-License-Identifier: Apache-2.0
// client/ring/layout.h: the layout of the memory that two processes share for their rings, and of
// the greetings that they exchange; version 3.
//
//   offset                          bytes        content
//   0                               64 KiB       Control
//   64 KiB                          ring_bytes   ring that the connector writes, the acceptor reads
//   64 KiB + ring_bytes             ring_bytes   ring that the acceptor writes, the connector reads
//
// Each ring carries a stream of bytes without message boundaries. Byte number n of the stream is at
// offset n - origin modulo ring_bytes of its ring. Numbers have the byte order of the host, because
// both processes run on one host.
//
// Format   docs/shm.md specifies which side may write which field and when, and what each side must
//          not trust. A change of this layout needs a new version.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace hatrpc::ring {

inline constexpr char kMagic[8] = {'h', 'a', 't', 'r', 'i', 'n', 'g', '\n'};
// The highest version of this format and the lowest one that this code supports. Version 2 added
// the bits by kByFutex, and version 3 the origin.
inline constexpr uint32_t kVersion = 3;
inline constexpr uint32_t kVersionMin = 1;
inline constexpr uint32_t kVersionOfFutex = 2;
inline constexpr uint32_t kVersionOfOrigin = 3;

// The size of the part before the rings. It is a multiple of every page size of Linux, because the
// rings after it are mapped separately.
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

// Bits of Lines::waits: a sleeping side waits for data, or for space.
inline constexpr uint32_t kForData = 1;
inline constexpr uint32_t kForSpace = 2;
// From version 2 on, a side can instead sleep in futex(2) on Lines::waits. It then sets the bit of
// what it waits for, shifted left by kByFutex (4 for data, 8 for space), and the other side wakes
// it with FUTEX_WAKE in place of a doorbell.
inline constexpr uint32_t kByFutex = 2;

// Values of Lines::ended: whether a side will write more bytes.
enum class End : uint32_t {
  kNone = 0,
  kEnded = 1,    // the side has written everything
  kAborted = 2,  // the side gave up before it had written everything
};

// The fields that one side writes and the other side reads. Fields are 128 bytes apart, although a
// cache line has 64, because a core can fetch cache lines in pairs. So a side that polls one field
// is not slowed down by stores to another field.
struct Lines {
  alignas(128) std::atomic<uint64_t> written;   // bytes that this side put into its own ring
  std::atomic<uint32_t> ended;                  // a value of End
  std::atomic<uint64_t> origin;                 // the number of the byte at offset 0 of its ring
  alignas(128) std::atomic<uint64_t> consumed;  // bytes that this side took from the other ring
  alignas(128) std::atomic<uint32_t> waits;     // kForData, kForSpace, and both << kByFutex; the
                                                // other side clears a bit and then wakes this side
};

struct Control {
  char magic[8];
  uint32_t version;
  uint32_t reserved;
  uint64_t ring_bytes;
  Lines sides[2];  // the index is a Side
};

static_assert(std::atomic<uint64_t>::is_always_lock_free);
static_assert(sizeof(Lines) == 384 && offsetof(Control, sides) == 128);
static_assert(sizeof(Control) <= kControlBytes);

// The only message that each side sends on the socket. The greeting of the acceptor also carries
// the descriptor of the shared memory (SCM_RIGHTS). Every later byte on the socket is a doorbell.
struct Greeting {
  char magic[8];
  // From the connector: its highest version; from the acceptor: the one it uses.
  uint32_t version;
  uint32_t refusal;     // from the acceptor: a Refusal; after a refusal it closes the socket
  uint64_t ring_bytes;  // from the connector: requested size, or 0; from the acceptor: actual size
  uint64_t reserved;    // 0
};
static_assert(sizeof(Greeting) == 32);

enum class Refusal : uint32_t { kNone = 0, kWrongVersion = 1, kMemory = 2 };

}  // namespace hatrpc::ring
