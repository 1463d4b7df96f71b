// SPDX-License-Identifier: Apache-2.0
#include "daemon/proxy/registrations.h"

#include <glog/logging.h>

#include <algorithm>
#include <utility>

namespace hat {

std::shared_ptr<BorrowedMemory> Registrations::add(
    ByteStream& stream, std::shared_ptr<const std::span<std::byte>> memory,
    const std::shared_ptr<engine::Fabric>& fabric) {
  if (refused_ && reactor_.now() - *refused_ < kPause) return nullptr;
  auto region = fabric->register_own(*memory);
  if (!region) {
    refused_ = reactor_.now();
    LOG_EVERY_T(WARNING, 10)
        << "shared memory: cannot register an application's ring, so its bytes are copied: "
        << region.error().message;
    return nullptr;
  }
  refused_.reset();
  return registered_.emplace_back(std::make_shared<BorrowedMemory>(
      &stream, this, fabric, std::move(memory), std::move(*region)));
}

void Registrations::forget(const BorrowedMemory& memory) {
  std::erase_if(registered_, [&](const auto& one) { return one.get() == &memory; });
}

void Registrations::domain_gone() {
  for (const auto& memory : registered_) memory->registrations = nullptr;
  registered_.clear();
}

std::shared_ptr<BorrowedMemory> RegisteredMemory::with(const LinkMemory& link, ByteStream& stream) {
  for (const auto& [fabric, one] : memories_) {
    if (fabric != link.fabric.get()) continue;
    // Another fabric can have the address of a fabric that is gone.
    if (auto memory = one.lock()) return memory;
  }
  auto made = link.registrations.add(
      stream, part_ == Part::kBytes ? stream.memory() : stream.space_memory(), link.fabric);
  if (!made) return nullptr;
  std::erase_if(memories_, [](const auto& one) { return one.second.expired(); });
  memories_.emplace_back(link.fabric.get(), made);
  return made;
}

void RegisteredMemory::end() {
  for (const auto& [fabric, one] : std::exchange(memories_, {})) {
    const auto memory = one.lock();
    if (!memory) continue;
    memory->stream = nullptr;
    if (memory->registrations != nullptr) memory->registrations->forget(*memory);
  }
}

}  // namespace hat
