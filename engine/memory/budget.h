// SPDX-License-Identifier: Apache-2.0
// engine/memory/budget.h: limits on what the RDMA lanes of several links use together, such as all
// links of a worker, or all links that one peer opened.
//
// A budget can be a part of another budget; what is used then counts against both.
//
// Thread   The users of a budget, and of the budgets of which it is a part, use one thread.
// Errors   check() and charge() say which limit is reached.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "base/result.h"

namespace hat::engine {

enum class Resource : uint8_t {
  kMemory,            // bytes of registered memory
  kDomains,           // links that have a domain
  kLatencyEntries,    // entries of the completion queue for lanes of the latency class
  kThroughputEntries  // the same, for lanes of the throughput class
};
inline constexpr size_t kResources = 4;

class RdmaBudget {
 public:
  using Amounts = std::array<uint64_t, kResources>;  // the index is a Resource
  static constexpr uint64_t kUnlimited = UINT64_MAX;

  // An amount that counts against a budget until the charge is destroyed.
  class [[nodiscard]] Charge {
   public:
    // Creates a charge of 0. If `budget` is null, nothing is counted.
    explicit Charge(std::shared_ptr<RdmaBudget> budget = nullptr,
                    Resource resource = Resource::kMemory)
        : budget_(std::move(budget)), resource_(resource) {}
    Charge(Charge&& other) noexcept
        : budget_(std::move(other.budget_)),
          resource_(other.resource_),
          amount_(std::exchange(other.amount_, 0)) {}
    Charge& operator=(Charge&&) = delete;
    ~Charge() { give_back(amount_); }

    // Adds `amount`, if the budget has as much left.
    Result<void> add(uint64_t amount);
    void give_back(uint64_t amount);

   private:
    std::shared_ptr<RdmaBudget> budget_;
    Resource resource_;
    uint64_t amount_ = 0;
  };

  // Creates a budget. `owner` begins the errors: "all links of this worker".
  RdmaBudget(std::string owner, const Amounts& most) : owner_(std::move(owner)), most_(most) {}
  // Creates a budget that is a part of `whole`: one `part`-th of each limit.
  RdmaBudget(std::string owner, uint64_t part, std::shared_ptr<RdmaBudget> whole);

  // Returns an error if `budget`, or a budget of which it is a part, has less than `amount` left.
  // Returns no error if `budget` is null.
  static Result<void> check(const RdmaBudget* budget, Resource resource, uint64_t amount);
  uint64_t used(Resource resource) const { return used_[static_cast<size_t>(resource)]; }
  uint64_t most(Resource resource) const { return most_[static_cast<size_t>(resource)]; }

 private:
  std::string over_text(Resource resource, uint64_t amount) const;

  const std::string owner_;
  Amounts most_{};
  Amounts used_{};
  const std::shared_ptr<RdmaBudget> whole_;
};

}  // namespace hat::engine
