// SPDX-License-Identifier: Apache-2.0
// bench/atb/measured.h: what clients saw while they were measured. Plain bytes: it lies in memory
// that processes share.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "bench/account.h"
#include "bench/atb/caller.h"
#include "bench/atb/histogram.h"

namespace hat::atb {

// Of the calls that bench/account.h counts.
struct OfFunction {
  uint64_t ended = 0;
  Histogram times;

  void add(const OfFunction& other) {
    ended += other.ended;
    times.add(other.times);
  }
};

struct Measured {
  std::array<OfFunction, kFunctions> functions;
  bench::Account account;     // of both functions together
  Clock::time_point until{};  // the last client stopped being measured

  void add(const Measured& other) {
    for (size_t i = 0; i < kFunctions; ++i) functions[i].add(other.functions[i]);
    account.add(other.account);
    until = std::max(until, other.until);
  }
};

}  // namespace hat::atb
