// bench/atb/measured.h: what clients saw while they were measured. Plain bytes: it lies in memory
// that processes share.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "bench/atb/caller.h"
#include "bench/atb/histogram.h"

namespace hat::atb {

// A call counts where it ended while measured, and its time where it began then: so calls that take
// as long as the measurement are neither left out nor counted twice.
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
  Clock::time_point until{};  // the last client stopped being measured
  uint64_t fewest = 0;        // calls of the client with the fewest, and with the most
  uint64_t most = 0;

  void add(const Measured& other) {
    const bool first = until == Clock::time_point{};
    for (size_t i = 0; i < kFunctions; ++i) functions[i].add(other.functions[i]);
    until = std::max(until, other.until);
    fewest = first ? other.fewest : std::min(fewest, other.fewest);
    most = std::max(most, other.most);
  }
};

}  // namespace hat::atb
