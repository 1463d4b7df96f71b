// SPDX-License-Identifier: Apache-2.0
// client/preload/spinner.h: spins for a while, yielding the core between polls, before its caller
// sleeps.
//
// The time depends on how long such waits took recently, and HATRPC_SPIN_US limits it, as in
// client/ring/socket.h.
#pragma once

#include <atomic>
#include <chrono>

namespace hatrpc::preload {

class Spinner {
 public:
  // `usual_ns` is how long such waits usually take; the destructor updates it with this wait.
  explicit Spinner(std::atomic<int64_t>& usual_ns) : usual_ns_(usual_ns), from_(Clock::now()) {}
  ~Spinner();
  Spinner(const Spinner&) = delete;
  Spinner& operator=(const Spinner&) = delete;

  // Yields the core once. Returns false if the caller has spun for long enough.
  bool again();

 private:
  using Clock = std::chrono::steady_clock;

  std::atomic<int64_t>& usual_ns_;
  const Clock::time_point from_;
  Clock::time_point now_{};  // not set before the first again()
};

}  // namespace hatrpc::preload
