// SPDX-License-Identifier: Apache-2.0
// daemon/metrics/usual_time.h: the time that calls of a function usually take, with which the time
// of one call is compared.
//
// It is a geometric mean that forgets: a few calls that take a hundred times as long change it
// little. A millisecond is added to each time, so that small differences between short times, such
// as the time in which a thread wakes up, do not count.
//
// Thread   one worker's.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <optional>

#include "base/reactor.h"

namespace hat {

class UsualTime {
 public:
  static constexpr uint32_t kUnsure = 16;  // the number of calls after which the mean is reliable

  // Adds the time of a call to the mean. Returns how slow the call was: the logarithm to the base 2
  // of the quotient of `took` and the mean before this call, 1 for a call that took twice the usual
  // time. Returns nullopt for the first kUnsure calls.
  std::optional<float> add(Duration took) {
    constexpr Duration kAdded = std::chrono::milliseconds(1);
    constexpr uint32_t kMemory = 64;  // calls
    const float level = std::log2(static_cast<float>((took + kAdded).count()));
    const float slowness = level - level_;
    const bool is_sure = calls_ >= kUnsure;
    calls_ = std::min(calls_ + 1, kMemory);
    level_ += slowness / static_cast<float>(calls_);
    return is_sure ? std::optional(slowness) : std::nullopt;
  }
  // Returns the logarithm to the base 2 of the mean, in nanoseconds.
  float level() const { return level_; }

 private:
  float level_ = 0;  // see level()
  uint32_t calls_ = 0;
};

}  // namespace hat
