// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/outbound/retry_budget.h: limits how many calls a worker sends again. Without a
// limit, these calls would multiply the load just when peers fail.
//
// Each call adds a part of a retry (limits.retry_percent), and each second adds kPerSecond, so that
// single failures are repaired when there are few calls. At most kMost unused retries are kept. The
// idea is Finagle's RetryBudget.
//
// Thread   the worker's.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/reactor.h"

namespace hat {

class RetryBudget {
 public:
  static constexpr uint32_t kPerSecond = 10;
  static constexpr uint32_t kMost = 100;

  // Counts a call, which adds `percent` hundredths of a retry.
  void note_call(uint32_t percent) { hundredths_ = std::min(hundredths_ + percent, kMost * 100); }

  // Uses one retry. Returns false if none is left.
  bool take(TimePoint now) {
    const Duration::rep most = kMost * 100;
    const Duration::rep earned = std::min((now - refilled_) / kTimeOfAHundredth, most);
    refilled_ = earned < most ? refilled_ + earned * kTimeOfAHundredth : now;
    hundredths_ = std::min(hundredths_ + static_cast<uint32_t>(earned), kMost * 100);
    if (hundredths_ < 100) return false;
    hundredths_ -= 100;
    return true;
  }

 private:
  static constexpr Duration kTimeOfAHundredth =
      Duration(std::chrono::seconds(1)) / kPerSecond / 100;

  uint32_t hundredths_ = 0;
  TimePoint refilled_{};
};

}  // namespace hat
