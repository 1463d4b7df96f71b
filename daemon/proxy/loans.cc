// SPDX-License-Identifier: Apache-2.0
#include "daemon/proxy/loans.h"

#include <glog/logging.h>

#include <algorithm>

namespace hat {

void Loans::give_back(const Loan& loan) {
  if (loan.memory->stream != nullptr) loan.memory->stream->give_back(loan.borrowed);
}

void Loans::returned(uint32_t lane, uint64_t frame) {
  const auto found = std::ranges::find_if(
      loans_, [&](const Loan& loan) { return loan.lane == lane && loan.frame == frame; });
  if (found == loans_.end()) return;
  const Loan loan = std::move(*found);
  loans_.erase(found);
  give_back(loan);
}

void Loans::lane_gone(uint32_t lane) {
  std::erase_if(loans_, [lane](const Loan& loan) {
    if (loan.lane != lane) return false;
    give_back(loan);
    return true;
  });
}

std::span<const std::byte> Lender::bulk(Stream& stream, uint64_t unexamined, size_t budget) {
  const uint64_t most = std::min<uint64_t>({unexamined, budget, engine::kPieceBytesMax});
  if (most < kBytesMin) return {};
  const auto there = stream.peek();
  if (there.size() < kBytesMin) return {};
  return there.first(std::min<uint64_t>(there.size(), most));
}

bool Lender::prepare(const std::shared_ptr<engine::Fabric>& fabric, Stream& stream) {
  if (refused_) return false;
  if (memory_ && memory_->fabric == fabric) return true;
  if (memory_.use_count() > 1) return false;  // lanes of another link use borrowed ranges of it
  auto memory = stream.memory();
  auto region = fabric->register_own(*memory);
  if (!region) {
    refused_ = true;
    LOG_EVERY_T(WARNING, 10) << "shared memory: an application's ring is copied, for "
                             << region.error().message;
    return false;
  }
  memory_ = std::make_shared<LentMemory>(&stream, fabric, std::move(memory), std::move(*region));
  return true;
}

bool Lender::send(const std::shared_ptr<engine::Fabric>& fabric, Stream& stream,
                  engine::RdmaLane& lane, uint32_t lane_number, Loans& loans,
                  const engine::FrameHeader& header, std::span<const std::byte> bytes) {
  if (bytes.size() < kBytesMin || !prepare(fabric, stream)) return false;
  const engine::Lent lent{{const_cast<std::byte*>(bytes.data()),
                           static_cast<uint32_t>(bytes.size()), memory_->region->lkey()}};
  loans.add(lane_number, lane.send_lent(header, lent), memory_, stream.borrow(bytes.size()));
  return true;
}

void Lender::end() {
  if (memory_) memory_->stream = nullptr;
  memory_.reset();
}

}  // namespace hat
