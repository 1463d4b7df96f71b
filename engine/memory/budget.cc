// SPDX-License-Identifier: Apache-2.0
#include "engine/memory/budget.h"

#include "base/check.h"
#include "base/quantities.h"

namespace hat::engine {

RdmaBudget::RdmaBudget(std::string owner, uint64_t part, std::shared_ptr<RdmaBudget> whole)
    : owner_(std::move(owner)), most_(whole->most_), whole_(std::move(whole)) {
  for (uint64_t& most : most_) most = most == kUnlimited ? kUnlimited : most / part;
}

std::string RdmaBudget::over_text(Resource resource, uint64_t amount) const {
  if (resource == Resource::kDomains) {
    const std::string most_text = std::to_string(most(resource));
    return "at most " + most_text + " of " + owner_ + " may have RDMA lanes, and " + most_text +
           " have them: use more workers";
  }
  const bool memory = resource == Resource::kMemory;
  const auto text = [memory](uint64_t n) { return memory ? size_text(n) : std::to_string(n); };
  return owner_ + " may have " + text(most(resource)) +
         (memory ? " of RDMA memory, of which "
                 : " entries of a completion queue for RDMA lanes, of which ") +
         text(used(resource)) + " are in use, and " + text(amount) + " more are needed: use " +
         (memory ? "" : "fewer lanes, or ") + "more workers";
}

Result<void> RdmaBudget::check(const RdmaBudget* budget, Resource resource, uint64_t amount) {
  for (const RdmaBudget* one = budget; one != nullptr; one = one->whole_.get()) {
    if (amount <= one->most(resource) - one->used(resource)) continue;
    return fail(ErrorCode::kExhausted, one->over_text(resource, amount));
  }
  return {};
}

Result<void> RdmaBudget::Charge::add(uint64_t amount) {
  HAT_TRY_VOID(check(budget_.get(), resource_, amount));
  amount_ += amount;
  for (RdmaBudget* one = budget_.get(); one != nullptr; one = one->whole_.get()) {
    one->used_[static_cast<size_t>(resource_)] += amount;
  }
  return {};
}

void RdmaBudget::Charge::give_back(uint64_t amount) {
  DCHECK_LE(amount, amount_);
  amount_ -= amount;
  for (RdmaBudget* one = budget_.get(); one != nullptr; one = one->whole_.get()) {
    one->used_[static_cast<size_t>(resource_)] -= amount;
  }
}

}  // namespace hat::engine
