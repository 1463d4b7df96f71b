// SPDX-License-Identifier: Apache-2.0
#include "client/preload/spinner.h"

#include <sched.h>

#include <algorithm>
#include <utility>

#include "client/ring/spin_policy.h"

namespace hatrpc::preload {
namespace {

// Each thread has one policy for all its sockets, because the policy measures how long yields of
// the thread take.
thread_local ring::SpinPolicy policy;

}  // namespace

bool Spinner::again() {
  if (now_ == Clock::time_point{}) {
    now_ = from_;
    policy.stay_awake_until(from_ + ring::spin_for(std::chrono::nanoseconds(
                                        usual_ns_.load(std::memory_order_relaxed))));
  }
  if (!policy.polls_again(now_)) return false;
  sched_yield();
  const auto then = std::exchange(now_, Clock::now());
  policy.yielded(then, now_);
  return true;
}

Spinner::~Spinner() {
  const int64_t usual = usual_ns_.load(std::memory_order_relaxed);
  const int64_t took = std::chrono::nanoseconds(Clock::now() - from_).count();
  usual_ns_.store(usual + (took - usual) / 8, std::memory_order_relaxed);
}

}  // namespace hatrpc::preload
