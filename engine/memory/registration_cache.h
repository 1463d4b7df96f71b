// SPDX-License-Identifier: Apache-2.0
// engine/memory/registration_cache.h: registers memory that is not the daemon's own with the RDMA
// device, for example a ring (shared memory) of an application. The memory is registered once, when
// it is added. Messages are then sent from this memory without a copy and without another
// registration.
//
// The owner of the memory must call remove() before it frees the memory, because the cache does not
// watch for freed memory. Caches that watch for it, by hooking malloc, have corrupted data
// (libfabric #6244).
//
// Bounds   The fabric limits the number of registrations; the loop fabric accepts 128 in all.
// Thread   Only the thread of the fabric uses a cache.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "engine/fabric/fabric.h"

namespace hat::engine {

// A borrowed range: bytes in an application's memory that an RDMA lane sends without a copy.
struct BorrowedRange {
  Segment segment;
  // The key by which other hosts READ the bytes. The key is 0 for memory that was registered with
  // Fabric::register_own(), which its owner may change at any time.
  uint32_t rkey = 0;
};

class RegistrationCache {
 public:
  explicit RegistrationCache(Fabric& fabric) : fabric_(fabric) {}

  // Registers `memory`, which must stay valid until remove(), with the remote rights `access`.
  // Memory that is added twice is registered once, and must be removed twice.
  Result<void> add(const SharedMemory& memory, RemoteAccess access);
  void remove(const SharedMemory& memory);
  // Finds the registration of `bytes`. Returns nullopt if `bytes` are not wholly inside one memory
  // that was added. Allocates nothing.
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
