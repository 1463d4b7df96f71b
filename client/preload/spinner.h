// SPDX-License-Identifier: Apache-2.0
// client/preload/spinner.h: lets a thread poll for a bounded time before the thread sleeps. Between
// two polls the thread yields its core.
//
// The time depends on how long similar waits took recently. The environment variable HATRPC_SPIN_US
// limits the time (client/ring/spin_policy.h).
#pragma once

#include <atomic>
#include <chrono>

namespace hatrpc::preload {

class Spinner {
 public:
  // Starts a wait. `usual_ns` is the average time of earlier waits of the same kind; the destructor
  // adds the time of this wait to the average.
  explicit Spinner(std::atomic<int64_t>& usual_ns) : usual_ns_(usual_ns), from_(Clock::now()) {}
  ~Spinner();
  Spinner(const Spinner&) = delete;
  Spinner& operator=(const Spinner&) = delete;

  // Yields the core once and returns true if the caller may poll again. Returns false, without a
  // yield, if the caller must stop polling.
  bool again();

 private:
  using Clock = std::chrono::steady_clock;

  std::atomic<int64_t>& usual_ns_;
  const Clock::time_point from_;
  Clock::time_point now_{};  // set by the first again()
};

}  // namespace hatrpc::preload
