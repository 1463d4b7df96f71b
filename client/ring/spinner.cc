// SPDX-License-Identifier: Apache-2.0
#include "client/ring/spinner.h"

#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "client/ring/core_history.h"
#include "client/ring/spin_policy.h"

namespace hatrpc::ring {
namespace {

using Duration = Spinner::Duration;

CoreHistory cores;
// Each thread has one policy for all its sockets, because the policy learns how long yields of the
// thread take.
thread_local SpinPolicy policy;

// Returns how long to poll an idle core if recent waits took `usual` on average (see spinner.h).
Duration time_to_poll(Duration usual) {
  constexpr Duration kAtLeast = std::chrono::microseconds(50);
  static const Duration max = [] {
    const char* text = std::getenv("HATRPC_SPIN_US");
    return std::chrono::microseconds(text == nullptr ? 1000
                                                     : std::clamp(std::atoi(text), 0, 1'000'000));
  }();
  return std::min(usual <= max ? std::max(2 * usual, kAtLeast) : kAtLeast, max);
}

}  // namespace

bool Spinner::again() {
  if (now_ == Clock::time_point{}) {
    now_ = from_;
    policy.start(time_to_poll(Duration(usual_ns_.load(std::memory_order_relaxed))));
  }
  if (now_ >= until_ || !policy.polls_again(now_)) return false;
  const auto from = Clock::now();
  sched_yield();
  const auto then = std::exchange(now_, Clock::now());
  policy.yielded(now_ - from, now_ - then);
  // If other threads of this process ran on the core in the meantime, the yield took long because
  // many threads take turns. Otherwise something else has kept the core.
  policy.judge(now_, now_ - from, cores.record(from, now_, SpinPolicy::kYieldMax));
  return true;
}

Spinner::~Spinner() {
  const int64_t usual = usual_ns_.load(std::memory_order_relaxed);
  const int64_t took = Duration(Clock::now() - from_).count();
  usual_ns_.store(usual + (took - usual) / 8, std::memory_order_relaxed);
}

}  // namespace hatrpc::ring
