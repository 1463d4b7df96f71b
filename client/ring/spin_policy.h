// SPDX-License-Identifier: Apache-2.0
// client/ring/spin_policy.h: decides whether a thread that has nothing to do polls again or sleeps.
//
// Polling saves the time of a wake-up. Between polls the thread yields its core, because the
// process that it waits for may need the core. However, a thread that yields can lose the core for
// the whole time slice of another thread (milliseconds), while a thread that wakes from sleep gets
// the core at once. So if a busy process shares the core, the thread sleeps instead of polling.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>

namespace hatrpc::ring {

// Returns how long to spin if recent waits of this kind took `usual` on average: twice that time,
// and at least 50 µs. Returns 50 µs if `usual` exceeds the environment variable HATRPC_SPIN_US
// (microseconds, default 1000), because spinning would rarely succeed. The result never exceeds
// HATRPC_SPIN_US.
inline std::chrono::nanoseconds spin_for(std::chrono::nanoseconds usual) {
  using Duration = std::chrono::nanoseconds;
  constexpr Duration kAtOnce = std::chrono::microseconds(50);
  static const Duration max = [] {
    const char* text = std::getenv("HATRPC_SPIN_US");
    return std::chrono::microseconds(text == nullptr ? 1000
                                                     : std::clamp(std::atoi(text), 0, 1'000'000));
  }();
  return std::min(usual <= max ? std::max(2 * usual, kAtOnce) : kAtOnce, max);
}

class SpinPolicy {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  using Duration = std::chrono::nanoseconds;

  // A yield is costly if it takes longer than this, because then a busy process shares the core. A
  // process that only answers calls gives the core back sooner than this.
  static constexpr Duration kYieldMax = std::chrono::milliseconds(1);
  // After a costly yield (see kYieldMax), polling is not allowed for kSleepsMin. This time doubles,
  // up to kSleepsMax, if fewer than kGoodYields short yields were between two costly yields.
  static constexpr Duration kSleepsMin = std::chrono::milliseconds(4);
  static constexpr Duration kSleepsMax = std::chrono::seconds(1);
  static constexpr uint32_t kGoodYields = 100;

  // Allows polling until `when`. A call whose `when` is earlier than that of a previous call has no
  // effect.
  void stay_awake_until(TimePoint when) { awake_until_ = std::max(awake_until_, when); }
  bool polls_again(TimePoint now) const { return now < awake_until_ && now >= sleeps_until_; }
  // Records a yield of the core that lasted from `from` until `to`.
  void yielded(TimePoint from, TimePoint to) {
    if (to - from <= kYieldMax) {
      ++good_yields_;
      return;
    }
    sleeps_for_ = good_yields_ < kGoodYields ? std::min(2 * sleeps_for_, kSleepsMax) : kSleepsMin;
    sleeps_until_ = to + sleeps_for_;
    good_yields_ = 0;
  }

 private:
  TimePoint awake_until_{};
  TimePoint sleeps_until_{};
  Duration sleeps_for_ = kSleepsMin;
  uint32_t good_yields_ = kGoodYields;
};

}  // namespace hatrpc::ring
