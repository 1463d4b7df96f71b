// SPDX-License-Identifier: Apache-2.0
// client/ring/look_policy.h: whether a thread that has nothing to do looks again, or sleeps.
//
// Looking saves a wake-up, and between looks the thread yields its core: whoever it waits for may
// want it. But Linux lets a thread that has yielded wait for the whole time slice (milliseconds) of
// whoever runs instead, and one that has slept not at all. So a core that is shared with somebody
// who has much to do is slept on.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>

namespace hatrpc::ring {

// How long to look where such waits took `usual` lately. Twice as long catches most of them; where
// they last longer than is worth it (HATRPC_SPIN_US of the environment, 1000 by default), only
// those are caught that come at once.
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

class LookPolicy {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  using Duration = std::chrono::nanoseconds;

  // An application answers sooner: whoever has the core for longer is not what we wait for.
  static constexpr Duration kYieldMax = std::chrono::milliseconds(1);
  // Then the thread sleeps instead, first for a while, and twice as long each time it meets the
  // same again before it has yielded so often at no cost.
  static constexpr Duration kSleepsMin = std::chrono::milliseconds(4);
  static constexpr Duration kSleepsMax = std::chrono::seconds(1);
  static constexpr uint32_t kGoodYields = 100;

  // Earlier times than one set before change nothing.
  void stay_awake_until(TimePoint when) { awake_until_ = std::max(awake_until_, when); }
  bool looks_again(TimePoint now) const { return now < awake_until_ && now >= sleeps_until_; }
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
