// SPDX-License-Identifier: Apache-2.0
// daemon/process/watchdog.h: reports that the daemon is alive only if each of its event loops has
// run an iteration since the last report. So the slowest loop sets the pace, and a loop that hangs
// ends the reports.
//
// Thread   The thread that calls look(), which also calls `iterations` and `wake`.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace hat {

class Watchdog {
 public:
  struct Loop {
    std::function<uint64_t()> iterations;  // iterations so far
    std::function<void()> wake;            // makes the loop iterate soon, even if it is idle
  };

  Watchdog(std::vector<Loop> loops, std::function<void()> say_alive);

  // Reports that the daemon is alive if every loop has run an iteration. Must be called several
  // times within the time after which the service manager takes silence for death.
  void check();

 private:
  struct Watched {
    Loop loop;
    uint64_t iterations_before = 0;
  };
  void begin();

  std::vector<Watched> loops_;
  std::function<void()> say_alive_;
};

}  // namespace hat
