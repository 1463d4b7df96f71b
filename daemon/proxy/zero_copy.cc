// SPDX-License-Identifier: Apache-2.0
#include "daemon/proxy/zero_copy.h"

#include <algorithm>

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

std::span<const std::byte> BulkSender::bulk(ByteStream& stream, uint64_t unexamined,
                                            size_t budget) {
  const uint64_t most = std::min<uint64_t>({unexamined, budget, engine::kPieceBytesMax});
  if (most < kBytesMin) return {};
  const auto there = stream.peek();
  if (there.size() < kBytesMin) return {};
  return there.first(std::min<uint64_t>(there.size(), most));
}

bool BulkSender::send(ByteStream& stream, const BulkLane& to, const engine::FrameHeader& header,
                      std::span<const std::byte> bytes) {
  if (state_ != State::kOffered || bytes.size() < kBytesMin) return false;
  auto memory = memory_.with(to.memory, stream);
  if (!memory) return false;
  const engine::BorrowedRange borrowed{{const_cast<std::byte*>(bytes.data()),
                                        static_cast<uint32_t>(bytes.size()),
                                        memory->region->lkey()}};
  const uint64_t frame = to.lane.send_zero_copy(header, borrowed);
  to.borrowed_ranges.add(to.number, frame, std::move(memory), stream.borrow(bytes.size()));
  state_ = State::kBorrowed;
  bytes_sent_.add(bytes.size());
  return true;
}

}  // namespace hat
