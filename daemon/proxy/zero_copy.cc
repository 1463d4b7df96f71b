// SPDX-License-Identifier: Apache-2.0
#include "daemon/proxy/zero_copy.h"

#include <glog/logging.h>

#include <algorithm>
#include <utility>

namespace hat {

void BorrowedRanges::give_back(const Range& range) {
  if (range.memory->stream != nullptr) range.memory->stream->give_back(range.borrowed);
}

void BorrowedRanges::returned(uint32_t lane, uint64_t frame) {
  const auto found = std::ranges::find_if(
      ranges_, [&](const Range& range) { return range.lane == lane && range.frame == frame; });
  if (found == ranges_.end()) return;
  const Range range = std::move(*found);
  ranges_.erase(found);
  give_back(range);
}

void BorrowedRanges::lane_gone(uint32_t lane) {
  std::erase_if(ranges_, [lane](const Range& range) {
    if (range.lane != lane) return false;
    give_back(range);
    return true;
  });
}

Result<std::shared_ptr<BorrowedMemory>> BorrowedRanges::register_memory(
    ByteStream& stream, const std::shared_ptr<engine::Fabric>& fabric) {
  auto memory = stream.memory();
  HAT_TRY(auto region, fabric->register_own(*memory));
  registered_.push_back(std::make_shared<BorrowedMemory>(&stream, this, fabric, std::move(memory),
                                                         std::move(region)));
  return registered_.back();
}

void BorrowedRanges::forget(const BorrowedMemory& memory) {
  std::erase_if(registered_, [&](const auto& one) { return one.get() == &memory; });
}

void BorrowedRanges::domain_gone() {
  for (const auto& memory : registered_) memory->ranges = nullptr;
  registered_.clear();
}

std::span<const std::byte> BulkSender::bulk(ByteStream& stream, uint64_t unexamined,
                                            size_t budget) {
  const uint64_t most = std::min<uint64_t>({unexamined, budget, engine::kPieceBytesMax});
  if (most < kBytesMin) return {};
  const auto there = stream.peek();
  if (there.size() < kBytesMin) return {};
  return there.first(std::min<uint64_t>(there.size(), most));
}

// Returns the registration for the lane's link, or null if the memory cannot be registered.
std::shared_ptr<BorrowedMemory> BulkSender::memory_for(const BulkLane& to, ByteStream& stream) {
  if (refused_) return nullptr;
  for (const auto& one : memories_) {
    auto memory = one.lock();
    if (memory && memory->fabric == to.fabric) return memory;
  }
  auto made = to.borrowed_ranges.register_memory(stream, to.fabric);
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

bool BulkSender::send(ByteStream& stream, const BulkLane& to, const engine::FrameHeader& header,
                      std::span<const std::byte> bytes) {
  if (state_ != State::kOffered || bytes.size() < kBytesMin) return false;
  auto memory = memory_for(to, stream);
  if (!memory) return false;
  const engine::BorrowedRange borrowed{{const_cast<std::byte*>(bytes.data()),
                                        static_cast<uint32_t>(bytes.size()),
                                        memory->region->lkey()}};
  to.borrowed_ranges.add(to.number, to.lane.send_zero_copy(header, borrowed), std::move(memory),
                         stream.borrow(bytes.size()));
  state_ = State::kBorrowed;
  bytes_sent_.add(bytes.size());
  return true;
}

void BulkSender::end() {
  for (const auto& one : std::exchange(memories_, {})) {
    const auto memory = one.lock();
    if (!memory) continue;
    memory->stream = nullptr;
    if (memory->ranges != nullptr) memory->ranges->forget(*memory);
  }
}

}  // namespace hat
