#include "client/preload/looker.h"

#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "client/ring/look_policy.h"

namespace hatrpc::preload {
namespace {

using Duration = std::chrono::nanoseconds;

Duration spin_max() {
  static const std::chrono::microseconds max = [] {
    const char* text = std::getenv("HATRPC_SPIN_US");
    return std::chrono::microseconds(text == nullptr ? 1000
                                                     : std::clamp(std::atoi(text), 0, 1'000'000));
  }();
  return max;
}

// Twice as long as usual catches most of them. Where they last longer than is worth it, only those
// are caught that come at once.
Duration spin_for(Duration usual) {
  constexpr Duration kAtOnce = std::chrono::microseconds(50);
  const Duration spin = std::max(2 * usual, kAtOnce);
  return std::min(usual <= spin_max() ? spin : kAtOnce, spin_max());
}

// Of the thread: what it has learnt of its core holds for all its sockets.
thread_local ring::LookPolicy policy;

}  // namespace

bool Looker::again() {
  if (now_ == Clock::time_point{}) {
    now_ = from_;
    policy.stay_awake_until(from_ + spin_for(Duration(usual_ns_.load(std::memory_order_relaxed))));
  }
  if (!policy.looks_again(now_)) return false;
  sched_yield();
  const auto then = std::exchange(now_, Clock::now());
  policy.yielded(then, now_);
  return true;
}

Looker::~Looker() {
  const int64_t usual = usual_ns_.load(std::memory_order_relaxed);
  const int64_t took = Duration(Clock::now() - from_).count();
  usual_ns_.store(usual + (took - usual) / 8, std::memory_order_relaxed);
}

}  // namespace hatrpc::preload
