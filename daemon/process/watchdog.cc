// SPDX-License-Identifier: Apache-2.0
#include "daemon/process/watchdog.h"

#include <algorithm>
#include <utility>

namespace hat {

Watchdog::Watchdog(std::vector<Loop> loops, std::function<void()> say_alive)
    : say_alive_(std::move(say_alive)) {
  for (Loop& loop : loops) loops_.push_back({std::move(loop)});
  begin();
}

void Watchdog::begin() {
  for (Watched& watched : loops_) {
    watched.turns_before = watched.loop.turns();
    watched.loop.wake();
  }
}

void Watchdog::look() {
  const auto has_turned = [](const Watched& watched) {
    return watched.loop.turns() != watched.turns_before;
  };
  if (!std::ranges::all_of(loops_, has_turned)) return;
  say_alive_();
  begin();
}

}  // namespace hat
