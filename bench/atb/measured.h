// SPDX-License-Identifier: Apache-2.0
// bench/atb/measured.h: the results of clients, as plain bytes for memory that processes share.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "bench/account.h"
#include "bench/atb/caller.h"
#include "bench/time_histogram.h"

namespace hat::atb {

// The calls of one function that bench/account.h counts.
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
  bench::Account account;     // both functions
  Clock::time_point until{};  // end of the last client's measurement

  void add(const Measured& other) {
    for (size_t i = 0; i < kFunctions; ++i) functions[i].add(other.functions[i]);
    account.add(other.account);
    until = std::max(until, other.until);
  }
};

}  // namespace hat::atb
