// SPDX-License-Identifier: Apache-2.0
// bench/atb/measured.h: the results of clients, as plain data that can be in shared memory.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/time_histogram.h"
#include "bench/account.h"
#include "bench/atb/caller.h"

namespace hat::atb {

// The results of one function. bench/account.h describes which calls count.
struct OfFunction {
  uint64_t ended = 0;
  TimeHistogram times;

  void add(const OfFunction& other) {
    ended += other.ended;
    times.add(other.times);
  }
};

struct Measured {
  std::array<OfFunction, kFunctions> functions;
  bench::Account account;     // calls of both functions together
  Clock::time_point until{};  // when the last client's measurement ended

  void add(const Measured& other) {
    for (size_t i = 0; i < kFunctions; ++i) functions[i].add(other.functions[i]);
    account.add(other.account);
    until = std::max(until, other.until);
  }
};

}  // namespace hat::atb
