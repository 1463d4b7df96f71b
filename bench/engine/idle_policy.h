// SPDX-License-Identifier: Apache-2.0
// bench/engine/idle_policy.h: decides what a thread does after a poll that found nothing. The
// polling mode decides (HatRPC SC'21 3.2: busy for low latency, event to save CPU time):
//
//   busy      polls again
//   adaptive  polls again, and sleeps if all polls found nothing for the time `spin`
//   event     sleeps
//
// If the host has too few cores, a polling thread yields its core after some polls, because the
// sender of the next message can need this core.
//
// To sleep without losing a wake-up, first call Poller::prepare_to_sleep(). If this returns true,
// sleep on the event_fd() of the poller and of its fabric, and then call Poller::take_events(). If
// it returns false, poll again.
//
// Cost     busy never reads the clock; adaptive reads it on every kLooksPerClock-th empty poll.
#pragma once

#include <chrono>
#include <cstdint>

#include "config/hints.h"

namespace hat::bench {

enum class Idle : uint8_t { kPoll, kYield, kSleep };

class IdlePolicy {
 public:
  static constexpr uint32_t kLooksPerYield = 32;
  static constexpr uint32_t kLooksPerClock = 8;
  using Clock = std::chrono::steady_clock;

  IdlePolicy(Polling polling, std::chrono::nanoseconds spin, bool yields)
      : polling_(polling), spin_(spin), yields_(yields) {}

  void found() { empty_polls_ = 0; }
  // Returns the next step after a poll that found nothing: poll again, yield the core, or sleep.
  Idle idle(Clock::time_point (*now)() = &Clock::now) {
    ++empty_polls_;
    if (polling_ == Polling::kEvent) return Idle::kSleep;
    if (polling_ == Polling::kAdaptive && empty_polls_ % kLooksPerClock == 1) {
      if (empty_polls_ == 1)
        sleep_at_ = now() + spin_;
      else if (now() >= sleep_at_)
        return Idle::kSleep;
    }
    return yields_ && empty_polls_ % kLooksPerYield == 0 ? Idle::kYield : Idle::kPoll;
  }

 private:
  const Polling polling_;
  const std::chrono::nanoseconds spin_;
  const bool yields_;
  uint64_t empty_polls_ = 0;
  Clock::time_point sleep_at_{};
};

// Returns true if `pollers` polling threads use all `cores`, so that no core is left for other
// threads.
inline bool cores_are_short(uint32_t pollers, uint32_t cores) { return pollers >= cores; }

}  // namespace hat::bench
