// SPDX-License-Identifier: Apache-2.0
// engine/memory/registration_cache.h: memory that somebody else brings (an application's ring),
// registered once when it comes, so that messages leave from it without being copied or registered.
//
// It caches nothing by address behind the owner's back: who frees memory says so by remove().
// Caches that guess, by hooking malloc, have corrupted data (libfabric #6244).
//
// Bounds   what the fabric takes; the loop fabric 128 regions in all.
// Thread   the fabric's.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "engine/fabric/fabric.h"

namespace hat::engine {

// Bytes that a lane may send from where they lie.
struct Lent {
  Segment segment;
  uint32_t rkey = 0;  // 0: own memory (Fabric::register_own()), which its owner may change any time
};

class RegistrationCache {
 public:
  explicit RegistrationCache(Fabric& fabric) : fabric_(fabric) {}

  // `memory` outlives its remove(). Added twice it is registered once, and removed twice.
  Result<void> add(const SharedMemory& memory, RemoteAccess access);
  void remove(const SharedMemory& memory);
  // None: they are not inside one memory that was added. No allocation.
  std::optional<Lent> find(std::span<const std::byte> bytes) const;
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
