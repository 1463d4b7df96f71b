// SPDX-License-Identifier: Apache-2.0
// engine/fabric/sleep.h: waits for file descriptors, in threads without an event loop (tests and
// benchmarks).
#pragma once

#include <poll.h>

#include <array>
#include <chrono>
#include <initializer_list>

namespace hat::engine {

// Sleeps until one of the `descriptors`, of which there are at most four, is readable. Returns
// false if the time `at_most` passes first.
inline bool sleep_on(std::initializer_list<int> descriptors, std::chrono::milliseconds at_most) {
  std::array<pollfd, 4> all{};
  size_t count = 0;
  for (const int fd : descriptors) all[count++] = {.fd = fd, .events = POLLIN, .revents = 0};
  return poll(all.data(), count, static_cast<int>(at_most.count())) > 0;
}

}  // namespace hat::engine
