// SPDX-License-Identifier: Apache-2.0
// engine/memory/budget.h: a limit on the registered memory of several arenas together, such as the
// arenas of all links of a worker, or of all links that one peer opened.
//
// A budget can be a part of another budget; memory then counts against both.
//
// Thread   The arenas of a budget and of the budgets of which it is a part use one thread.
// Errors   charge() says which limit is reached.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "base/result.h"

namespace hat::engine {

class MemoryBudget {
 public:
  // Memory that counts against a budget until the charge is destroyed.
  class [[nodiscard]] Charge {
   public:
    Charge() = default;
    Charge(Charge&& other) noexcept
        : budget_(std::move(other.budget_)), bytes_(std::exchange(other.bytes_, 0)) {}
    Charge& operator=(Charge&&) = delete;
    ~Charge();

   private:
    friend class MemoryBudget;
    std::shared_ptr<MemoryBudget> budget_;
    uint64_t bytes_ = 0;
  };

  // Creates a budget of `bytes_max` bytes. `owner` begins the error of charge(): "all links of this
  // worker". The budget is a part of `whole`, if that is not null.
  MemoryBudget(std::string owner, uint64_t bytes_max, std::shared_ptr<MemoryBudget> whole = nullptr)
      : owner_(std::move(owner)), bytes_max_(bytes_max), whole_(std::move(whole)) {}

  // Counts `bytes` more bytes against the budget. Counts nothing if `budget` is null.
  static Result<Charge> charge(const std::shared_ptr<MemoryBudget>& budget, uint64_t bytes);
  uint64_t used() const { return used_; }
  uint64_t bytes_max() const { return bytes_max_; }

 private:
  const std::string owner_;
  const uint64_t bytes_max_;
  const std::shared_ptr<MemoryBudget> whole_;
  uint64_t used_ = 0;
};

}  // namespace hat::engine
