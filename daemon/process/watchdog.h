// SPDX-License-Identifier: Apache-2.0
// daemon/process/watchdog.h: says that the daemon is alive only when each of its loops has turned
// since it said so last. So the slowest loop sets the pace, and one that hangs ends it.
//
// Thread   look()'s; `turns` and `wake` are called there.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace hat {

class Watchdog {
 public:
  struct Loop {
    std::function<uint64_t()> turns;  // so far
    std::function<void()> wake;       // has it turn soon, also where it has nothing to do
  };

  Watchdog(std::vector<Loop> loops, std::function<void()> say_alive);

  // To be called several times within the time after which silence means death.
  void look();

 private:
  struct Watched {
    Loop loop;
    uint64_t turns_before = 0;
  };
  void begin();

  std::vector<Watched> loops_;
  std::function<void()> say_alive_;
};

}  // namespace hat
