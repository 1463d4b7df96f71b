// SPDX-License-Identifier: Apache-2.0
// client/preload/looker.h: looks for a while, yielding between looks, before its caller sleeps.
//
// For about as long as such waits took lately, as client/ring/socket.h has it, HATRPC_SPIN_US too.
#pragma once

#include <atomic>
#include <chrono>

namespace hatrpc::preload {

class Looker {
 public:
  // `usual_ns`: how long such waits take; learns from this one.
  explicit Looker(std::atomic<int64_t>& usual_ns) : usual_ns_(usual_ns), from_(Clock::now()) {}
  ~Looker();
  Looker(const Looker&) = delete;
  Looker& operator=(const Looker&) = delete;

  // Yields once. False: it has been long enough.
  bool again();

 private:
  using Clock = std::chrono::steady_clock;

  std::atomic<int64_t>& usual_ns_;
  const Clock::time_point from_;
  Clock::time_point now_{};  // none before the first look
};

}  // namespace hatrpc::preload
