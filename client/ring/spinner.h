// SPDX-License-Identifier: Apache-2.0
// client/ring/spinner.h: lets an application's thread poll for a bounded time before it sleeps.
// Between two polls the thread yields its core.
//
//   Spinner spinner(usual_wait_ns);
//   while (spinner.again()) {
//     if (the ring has data) return;
//   }
//   sleep until the ring has data;
//
// The thread polls an idle core for about twice as long as recent waits took, at least 50 µs and at
// most HATRPC_SPIN_US microseconds (environment variable; default 1000). If recent waits took
// longer than HATRPC_SPIN_US, the thread polls an idle core for at most 50 µs. With
// HATRPC_SPIN_US=0 again() returns false at once. SpinPolicy limits polling on a core that other
// threads use. No wait polls longer than kLimit, so that time-outs and interrupts are noticed.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace hatrpc::ring {

class Spinner {
 public:
  using Clock = std::chrono::steady_clock;

  using Duration = std::chrono::nanoseconds;

  static constexpr Duration kLimit = std::chrono::milliseconds(20);

  // Starts a wait that polls at most for `limit` or kLimit. `usual_ns` is the average time of
  // earlier waits of the same kind, in nanoseconds; the destructor adds the time of this wait to
  // the average.
  explicit Spinner(std::atomic<int64_t>& usual_ns, Duration limit = kLimit)
      : usual_ns_(usual_ns), from_(Clock::now()), until_(from_ + std::min(limit, kLimit)) {}
  ~Spinner();
  Spinner(const Spinner&) = delete;
  Spinner& operator=(const Spinner&) = delete;

  // Yields the core once and returns true if the caller may poll again. Returns false, without a
  // yield, if the caller must stop polling.
  bool again();
  // Returns the time at which the wait started.
  Clock::time_point from() const { return from_; }

 private:
  std::atomic<int64_t>& usual_ns_;
  const Clock::time_point from_;
  const Clock::time_point until_;
  Clock::time_point now_{};  // set by the first again()
};

}  // namespace hatrpc::ring
