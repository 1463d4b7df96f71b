// daemon/look_policy.h: whether a worker that has nothing to do looks again, or sleeps.
//
// Looking saves a wake-up, and between looks the worker yields its core: the application that it
// waits for may want it. But Linux lets a thread that has yielded wait for the whole time slice
// (milliseconds) of whoever runs instead, and one that has slept not at all. So a core that is
// shared with somebody who has much to do is slept on.
#pragma once

#include <algorithm>

#include "base/reactor.h"

namespace hat {

class LookPolicy {
 public:
  // An application answers sooner: whoever has the core for longer is not what we wait for.
  static constexpr Duration kYieldMax = std::chrono::milliseconds(1);
  // And is still there for some time.
  static constexpr Duration kSleepsAfter = std::chrono::seconds(1);

  // Earlier times than one set before change nothing.
  void stay_awake_until(TimePoint when) { awake_until_ = std::max(awake_until_, when); }
  bool looks_again(TimePoint now) const { return now < awake_until_ && now >= sleeps_until_; }
  void yielded(TimePoint from, TimePoint to) {
    if (to - from > kYieldMax) sleeps_until_ = to + kSleepsAfter;
  }

 private:
  TimePoint awake_until_{};
  TimePoint sleeps_until_{};
};

}  // namespace hat
