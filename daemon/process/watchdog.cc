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
    watched.iterations_before = watched.loop.iterations();
    watched.loop.wake();
  }
}

void Watchdog::check() {
  const auto has_iterated = [](const Watched& watched) {
    return watched.loop.iterations() != watched.iterations_before;
  };
  if (!std::ranges::all_of(loops_, has_iterated)) return;
  say_alive_();
  begin();
}

}  // namespace hat
