// SPDX-License-Identifier: Apache-2.0
// daemon/process/watchdog.h: reports that the daemon is alive, each time that all event loops have
// run an iteration since the last report. If one loop hangs, there are no more reports.
//
// Thread   One thread calls check(), which calls `iterations` and `wake` of every loop.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace hat {

class Watchdog {
 public:
  struct Loop {
    std::function<uint64_t()> iterations;  // returns the number of iterations so far
    std::function<void()> wake;  // makes the loop run an iteration soon, even if it is idle
  };

  Watchdog(std::vector<Loop> loops, std::function<void()> say_alive);

  // Reports that the daemon is alive if every loop has run an iteration since the last report. Must
  // be called several times within systemd's watchdog time.
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
