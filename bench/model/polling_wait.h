// SPDX-License-Identifier: Apache-2.0
// bench/model/polling_wait.h: lets a modelled thread poll before it sleeps, and yield its core
// between polls, for as long as hatrpc::ring::SpinPolicy allows: the policy of hatrpcd's workers
// and of applications with rings.
//
// Thread   that of the modelled thread.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "bench/model/machine.h"
#include "client/ring/spin_policy.h"

namespace hat::model {

class PollingWait {
 public:
  using Policy = hatrpc::ring::SpinPolicy;

  explicit PollingWait(Thread& thread) : thread_(thread) {}

  // Begins a wait, and allows it to poll for this time (SpinPolicy::start() and extend()).
  void start(Time time) { policy_.start(time); }
  void extend(Time time) { policy_.extend(time); }

  // Judges the last yield. The thread calls this at the beginning of each step. `events` are those
  // that the yield has brought: a yield that was long, and brought few, was lost to a thread that
  // computes. Without `events`, no yield is lost.
  void begin_step(std::optional<size_t> events) {
    constexpr Time kYieldPerEvent = std::chrono::microseconds(50);
    const Time took = thread_.take_wait();
    if (!std::exchange(yields_, false)) return;
    policy_.yielded(took, thread_.now() - polls_from_);
    if (took == Time(0)) return;
    policy_.judge(time_point(), took,
                  events && took > Policy::kYieldMax &&
                      took > static_cast<int64_t>(*events) * kYieldPerEvent);
  }
  // Returns true if the thread may poll again, after a step that has found nothing. The step must
  // then return Then::kYield.
  bool again() {
    if (!policy_.polls_again(time_point())) return false;
    yields_ = true;
    polls_from_ = thread_.now();
    thread_.machine().schedule().at(polls_from_ + policy_.left(), [this, yield = ++yield_] {
      if (yields_ && yield == yield_) thread_.poke(false);
    });
    return true;
  }

 private:
  Policy::TimePoint time_point() const { return Policy::TimePoint(thread_.now()); }

  Thread& thread_;
  Policy policy_;
  bool yields_ = false;  // the last step has ended with a yield
  uint64_t yield_ = 0;   // its number
  Time polls_from_{};    // since when the thread has found nothing
};

}  // namespace hat::model
