// SPDX-License-Identifier: Apache-2.0
#include "engine/memory/budget.h"

#include "base/quantities.h"

namespace hat::engine {

MemoryBudget::Charge::~Charge() {
  for (MemoryBudget* one = budget_.get(); one != nullptr; one = one->whole_.get()) {
    one->used_ -= bytes_;
  }
}

Result<MemoryBudget::Charge> MemoryBudget::charge(const std::shared_ptr<MemoryBudget>& budget,
                                                  uint64_t bytes) {
  for (const MemoryBudget* one = budget.get(); one != nullptr; one = one->whole_.get()) {
    if (bytes <= one->bytes_max_ - one->used_) continue;
    return fail(ErrorCode::kExhausted, one->owner_ + " may have " + size_text(one->bytes_max_) +
                                           " of RDMA memory, of which " + size_text(one->used_) +
                                           " are in use, and " + size_text(bytes) +
                                           " more are needed: use more workers");
  }
  for (MemoryBudget* one = budget.get(); one != nullptr; one = one->whole_.get()) {
    one->used_ += bytes;
  }
  Charge charge;
  charge.budget_ = budget;
  charge.bytes_ = bytes;
  return charge;
}

}  // namespace hat::engine
