// SPDX-License-Identifier: Apache-2.0
// engine/memory/registration_cache.h: memory that another owner provides (an application's ring),
// registered once when it is added, so that messages are sent from it without a copy or a
// registration.
//
// The cache does not guess when memory is freed: the owner that frees memory calls remove(). Caches
// that guess, by hooking malloc, have corrupted data (libfabric #6244).
//
// Bounds   as many regions as the fabric accepts; the loop fabric accepts 128 in all.
// Thread   the fabric's.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "engine/fabric/fabric.h"

namespace hat::engine {

// A borrowed range: bytes that a lane may send from the memory in which they are.
struct BorrowedRange {
  Segment segment;
  // 0: own memory (Fabric::register_own()), which its owner may change at any time.
  uint32_t rkey = 0;
};

class RegistrationCache {
 public:
  explicit RegistrationCache(Fabric& fabric) : fabric_(fabric) {}

  // `memory` must stay valid until remove(). Memory that is added twice is registered once, and
  // must be removed twice.
  Result<void> add(const SharedMemory& memory, RemoteAccess access);
  void remove(const SharedMemory& memory);
  // Returns nullopt if `bytes` are not inside one memory that was added. Allocates nothing.
  std::optional<BorrowedRange> find(std::span<const std::byte> bytes) const;
  size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    const std::byte* begin;
    uint32_t uses;
    std::unique_ptr<MemoryRegion> region;
  };
  std::vector<Entry>::const_iterator at_or_before(const std::byte* address) const;

  Fabric& fabric_;
  std::vector<Entry> entries_;  // by address
};

}  // namespace hat::engine
