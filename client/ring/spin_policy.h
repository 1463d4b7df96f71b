// SPDX-License-Identifier: Apache-2.0
// client/ring/spin_policy.h: decides whether a thread that found nothing polls again or sleeps.
// docs/waiting.md has the reasons.
//
// Between two polls the thread yields its core (sched_yield(2)). There are three kinds of yields:
//
//   idle     The yield returns at once, because no other thread wants the core. Then polling costs
//            only time of a core that nobody needs. A time limits polling with idle yields.
//   shared   Other threads used the core for a short time. Then polling costs other threads two
//            context switches. A number limits shared yields, and not a time: the more threads
//            share the core, the longer a yield takes, although it costs no more.
//   costly   A thread that computes used the core for its whole time slice (milliseconds). A thread
//            that wakes from sleep gets the core sooner than a thread that yields. So after a
//            costly yield the thread sleeps instead of polling for some time.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace hatrpc::ring {

class SpinPolicy {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  using Duration = std::chrono::nanoseconds;

  // A yield that takes longer than this is shared. A yield of an idle core takes less than 1 µs.
  static constexpr Duration kIdleYieldMax = std::chrono::microseconds(5);
  static constexpr uint32_t kSharedYieldsMax = 20;
  // Only a yield that takes longer than this can be costly.
  static constexpr Duration kYieldMax = std::chrono::milliseconds(1);
  // After a costly yield, polling is not allowed for kSleepsMin. This time doubles, up to
  // kSleepsMax, if fewer than kGoodYields other yields were between two costly yields.
  static constexpr Duration kSleepsMin = std::chrono::milliseconds(4);
  static constexpr Duration kSleepsMax = std::chrono::milliseconds(250);
  static constexpr uint32_t kGoodYields = 100;

  // Starts a wait: allows `time` of polling with idle yields, and kSharedYieldsMax shared yields.
  // With a `time` of 0 the thread sleeps at once.
  void start(Duration time) {
    left_ = time;
    shared_yields_ = 0;
  }
  // Starts a wait as start() does, but keeps the rest of the time of the previous wait if that is
  // longer.
  void extend(Duration time) { start(std::max(time, left_)); }
  bool polls_again(TimePoint now) const {
    return left_ > Duration::zero() && shared_yields_ < kSharedYieldsMax && now >= sleeps_until_;
  }

  // Records a fruitless poll and the yield after it. `took` is the time of the yield, and `polled`
  // the time of both.
  void yielded(Duration took, Duration polled) {
    if (took > kIdleYieldMax) {
      ++shared_yields_;
    } else {
      left_ -= polled;
    }
  }
  // Records whether the yield that ended at about `now` was costly. The caller decides this,
  // because it knows more about the yield than its time.
  void judge(TimePoint now, bool was_costly) {
    if (!was_costly) {
      ++good_yields_;
      return;
    }
    sleeps_for_ = good_yields_ < kGoodYields ? std::min(2 * sleeps_for_, kSleepsMax) : kSleepsMin;
    sleeps_until_ = now + sleeps_for_;
    good_yields_ = 0;
  }

 private:
  Duration left_{};
  uint32_t shared_yields_ = 0;
  TimePoint sleeps_until_{};
  Duration sleeps_for_ = kSleepsMin;
  uint32_t good_yields_ = kGoodYields;
};

}  // namespace hatrpc::ring
