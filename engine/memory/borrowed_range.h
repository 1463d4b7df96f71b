// SPDX-License-Identifier: Apache-2.0
// engine/memory/borrowed_range.h: bytes in memory of another owner, such as an application's ring,
// from which a lane may send without a copy.
//
// The owner registers its memory once, before the first send, and keeps the registration while a
// lane has borrowed any range of the memory.
#pragma once

#include <cstdint>
#include <span>

#include "base/check.h"
#include "engine/fabric/fabric.h"

namespace hat::engine {

struct BorrowedRange {
  Segment segment;
  // The key by which a peer can READ the range. 0: memory of Fabric::register_own(), which no peer
  // can READ, and which its owner may change at any time.
  uint32_t rkey = 0;
};

// Returns `bytes`, which are inside the region's memory, as a range of that memory.
inline BorrowedRange range_of(const MemoryRegion& region, std::span<std::byte> bytes) {
  const std::span<std::byte> all = region.bytes();
  DCHECK(bytes.data() >= all.data() && bytes.data() + bytes.size() <= all.data() + all.size())
      << "the bytes are not inside the region";
  return {{bytes.data(), static_cast<uint32_t>(bytes.size()), region.lkey()}, region.rkey()};
}

}  // namespace hat::engine
