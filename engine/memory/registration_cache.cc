// SPDX-License-Identifier: Apache-2.0
#include "engine/memory/registration_cache.h"

#include <algorithm>

namespace hat::engine {

// Returns the last entry whose memory begins at or before `address`, or end() if there is none.
std::vector<RegistrationCache::Entry>::const_iterator RegistrationCache::at_or_before(
    const std::byte* address) const {
  const auto after = std::ranges::upper_bound(entries_, address, {}, &Entry::begin);
  return after == entries_.begin() ? entries_.end() : after - 1;
}

Result<void> RegistrationCache::add(const SharedMemory& memory, RemoteAccess access) {
  const std::byte* begin = memory.bytes().data();
  const auto found = std::ranges::lower_bound(entries_, begin, {}, &Entry::begin);
  if (found != entries_.end() && found->begin == begin) {
    ++found->uses;
    return {};
  }
  HAT_TRY(auto region, fabric_.register_memory(memory, access));
  entries_.insert(found, Entry{begin, 1, std::move(region)});
  return {};
}

void RegistrationCache::remove(const SharedMemory& memory) {
  const auto found = std::ranges::lower_bound(entries_, memory.bytes().data(), {}, &Entry::begin);
  if (found == entries_.end() || found->begin != memory.bytes().data()) return;
  if (--found->uses == 0) entries_.erase(found);
}

std::optional<BorrowedRange> RegistrationCache::find(std::span<const std::byte> bytes) const {
  const auto entry = at_or_before(bytes.data());
  if (entry == entries_.end()) return std::nullopt;
  const std::span<std::byte> all = entry->region->bytes();
  const auto offset = static_cast<size_t>(bytes.data() - all.data());
  if (offset > all.size() || bytes.size() > all.size() - offset) return std::nullopt;
  return BorrowedRange{
      {all.data() + offset, static_cast<uint32_t>(bytes.size()), entry->region->lkey()},
      entry->region->rkey()};
}

}  // namespace hat::engine
