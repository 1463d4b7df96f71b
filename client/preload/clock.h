// SPDX-License-Identifier: Apache-2.0
// client/preload/clock.h: the clock of this library's time-outs.
#pragma once

#include <cstdint>
#include <ctime>

namespace hatrpc::preload {

// Returns CLOCK_MONOTONIC in nanoseconds.
inline int64_t now_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}
// Returns CLOCK_MONOTONIC in milliseconds.
inline int64_t now_ms() { return now_ns() / 1'000'000; }

}  // namespace hatrpc::preload
