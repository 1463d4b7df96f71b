// SPDX-License-Identifier: Apache-2.0
// engine/rdma/idle_policy.h: what a thread does after it has looked and found nothing, by the
// plan's polling (HatRPC SC'21 3.2: busy for latency, event for the CPU's sake).
//
//   busy      look again, always
//   adaptive  look again for `spin` after the last find, then sleep
//   event     sleep
//
// Who looks while cores are short yields its core now and then: what it waits for may need it.
//
// To sleep: Poller::prepare_to_sleep(); only where that is true, sleep on its event_fd() and its
// fabric's; then Poller::take_events(). No wake-up is lost so.
//
// Cost     busy reads no clock; adaptive reads one every kLooksPerClock looks.
#pragma once

#include <chrono>
#include <cstdint>

#include "config/hints.h"

namespace hat::engine {

enum class Idle : uint8_t { kLook, kYield, kSleep };

class IdlePolicy {
 public:
  static constexpr uint32_t kLooksPerYield = 32;
  static constexpr uint32_t kLooksPerClock = 8;
  using Clock = std::chrono::steady_clock;

  IdlePolicy(Polling polling, std::chrono::nanoseconds spin, bool yields)
      : polling_(polling), spin_(spin), yields_(yields) {}

  void found() { empty_looks_ = 0; }
  // After a look that found nothing.
  Idle idle(Clock::time_point (*now)() = &Clock::now) {
    ++empty_looks_;
    if (polling_ == Polling::kEvent) return Idle::kSleep;
    if (polling_ == Polling::kAdaptive && empty_looks_ % kLooksPerClock == 1) {
      if (empty_looks_ == 1)
        sleep_at_ = now() + spin_;
      else if (now() >= sleep_at_)
        return Idle::kSleep;
    }
    return yields_ && empty_looks_ % kLooksPerYield == 0 ? Idle::kYield : Idle::kLook;
  }

 private:
  const Polling polling_;
  const std::chrono::nanoseconds spin_;
  const bool yields_;
  uint64_t empty_looks_ = 0;
  Clock::time_point sleep_at_{};
};

// Whether so many threads that poll leave no core for those they serve.
inline bool cores_are_short(uint32_t pollers, uint32_t cores) { return pollers >= cores; }

}  // namespace hat::engine
