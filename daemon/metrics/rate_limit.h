// SPDX-License-Identifier: Apache-2.0
// daemon/metrics/rate_limit.h: a bound on the number of events in a second, such as lines in a file
// that clients cause.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/reactor.h"

namespace hat {

// Permits a number of events in each second.
class RateLimit {
 public:
  explicit RateLimit(uint32_t per_second) : per_second_(per_second) {}

  // Returns true, and counts the event, if an event at `now` is permitted. `now` never decreases. A
  // second begins with the first event after the end of the second before.
  bool permits(TimePoint now) {
    if (now - begin_ >= std::chrono::seconds(1)) {
      begin_ = now;
      events_ = 0;
    }
    if (events_ == per_second_) return false;
    ++events_;
    return true;
  }

 private:
  uint32_t per_second_;
  uint32_t events_ = 0;  // in the second from begin_ on
  TimePoint begin_{};
};

}  // namespace hat
