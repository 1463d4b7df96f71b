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
//   lost     A thread that computes used the core for its whole time slice (milliseconds). A thread
//            that wakes from sleep gets the core sooner than a thread that yields. So if most of
//            the time of recent yields was lost, the thread sleeps for some time instead of
//            polling.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace hatrpc::ring {

class SpinPolicy {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  using Duration = std::chrono::nanoseconds;

  // A yield that takes longer than this counts as shared. A yield of an idle core takes less than
  // 1 µs.
  static constexpr Duration kIdleYieldMax = std::chrono::microseconds(5);
  static constexpr uint32_t kSharedYieldsMax = 20;
  // Only a yield that takes longer than this can be lost.
  static constexpr Duration kYieldMax = std::chrono::milliseconds(1);
  // When the time of recent yields exceeds this, it is halved, and so is the lost part of it. So
  // old yields count ever less. A thread sleeps if more than half of this time was lost, and more
  // than a quarter of kRecent: a process that computes for a few milliseconds changes nothing.
  static constexpr Duration kRecent = std::chrono::milliseconds(20);
  // A lost yield then forbids polling for kSleepsMin. This time doubles, up to kSleepsMax, if the
  // next one that does so comes within kGoodTime after polling is allowed again.
  static constexpr Duration kSleepsMin = std::chrono::milliseconds(4);
  static constexpr Duration kSleepsMax = std::chrono::milliseconds(250);
  static constexpr Duration kGoodTime = std::chrono::milliseconds(100);

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

  // Returns for how long it allows polling with idle yields.
  Duration left() const { return left_; }

  // Records a fruitless poll and the yield after it. `took` is the time of the yield, and `polled`
  // the time of both.
  void yielded(Duration took, Duration polled) {
    if (took > kIdleYieldMax) {
      ++shared_yields_;
    } else {
      left_ -= polled;
    }
  }
  // Records a yield that ended at about `now` and took `took`, and whether it was lost. The caller
  // decides this, because it knows more about the yield than its time. A lost yield forbids polling
  // for some time, if more than half of the time of recent yields was lost.
  void judge(TimePoint now, Duration took, bool was_lost) {
    recent_ += took;
    if (was_lost) recent_lost_ += took;
    while (recent_ > kRecent) {
      recent_ /= 2;
      recent_lost_ /= 2;
    }
    if (!was_lost || 2 * recent_lost_ <= std::max(recent_, kRecent / 2)) return;
    sleeps_for_ =
        now - sleeps_until_ < kGoodTime ? std::min(2 * sleeps_for_, kSleepsMax) : kSleepsMin;
    sleeps_until_ = now + sleeps_for_;
  }

 private:
  Duration left_{};
  uint32_t shared_yields_ = 0;
  Duration recent_{};       // how long recent yields took
  Duration recent_lost_{};  // how long those of them took that were lost
  TimePoint sleeps_until_{};
  Duration sleeps_for_ = kSleepsMin;
};

}  // namespace hatrpc::ring
