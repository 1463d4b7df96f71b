// SPDX-License-Identifier: Apache-2.0
#include "daemon/proxy/registrations.h"

#include <glog/logging.h>

#include <algorithm>
#include <utility>

namespace hat {

Result<std::shared_ptr<BorrowedMemory>> Registrations::add(
    ByteStream& stream, std::shared_ptr<const std::span<std::byte>> memory,
    const std::shared_ptr<engine::Fabric>& fabric) {
  HAT_TRY(auto region, fabric->register_own(*memory));
  registered_.push_back(std::make_shared<BorrowedMemory>(&stream, this, fabric, std::move(memory),
                                                         std::move(region)));
  return registered_.back();
}

void Registrations::forget(const BorrowedMemory& memory) {
  std::erase_if(registered_, [&](const auto& one) { return one.get() == &memory; });
}

void Registrations::domain_gone() {
  for (const auto& memory : registered_) memory->registrations = nullptr;
  registered_.clear();
}

std::shared_ptr<BorrowedMemory> RegisteredMemory::with(const LinkMemory& link, ByteStream& stream) {
  if (refused_) return nullptr;
  for (const auto& one : memories_) {
    auto memory = one.lock();
    if (memory && memory->fabric == link.fabric) return memory;
  }
  auto made = link.registrations.add(
      stream, part_ == Part::kBytes ? stream.memory() : stream.space_memory(), link.fabric);
  if (!made) {
    refused_ = true;
    LOG_EVERY_T(WARNING, 10)
        << "shared memory: cannot register an application's ring, so its bytes are copied: "
        << made.error().message;
    return nullptr;
  }
  std::erase_if(memories_, [](const auto& one) { return one.expired(); });
  memories_.push_back(*made);
  return *made;
}

void RegisteredMemory::end() {
  for (const auto& one : std::exchange(memories_, {})) {
    const auto memory = one.lock();
    if (!memory) continue;
    memory->stream = nullptr;
    if (memory->registrations != nullptr) memory->registrations->forget(*memory);
  }
}

}  // namespace hat
