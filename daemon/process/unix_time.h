// SPDX-License-Identifier: Apache-2.0
// daemon/process/unix_time.h: times in seconds since 1970, and as text.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <string>

namespace hat {

inline double unix_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// Returns the time since 1970 minus the time of the steady clock. The thread can be interrupted
// between two readings of clocks, so this reads the steady clock before and after the other one,
// and uses the best of a few attempts.
inline std::chrono::nanoseconds unix_minus_steady() {
  using std::chrono::steady_clock;
  constexpr std::chrono::microseconds kGoodGap{2};
  constexpr int kAttemptsMax = 8;
  std::chrono::nanoseconds difference{};
  auto best = std::chrono::nanoseconds::max();
  for (int i = 0; i < kAttemptsMax && best > kGoodGap; ++i) {
    const auto before = steady_clock::now().time_since_epoch();
    const auto unix_time = std::chrono::system_clock::now().time_since_epoch();
    const std::chrono::nanoseconds gap = steady_clock::now().time_since_epoch() - before;
    if (gap >= best) continue;
    best = gap;
    difference = unix_time - before - gap / 2;
  }
  return difference;
}

// Returns the time as text, such as "2026-11-30 02:10:12 UTC".
inline std::string utc_text(int64_t unix_seconds) {
  const std::time_t time = unix_seconds;
  std::tm parts{};
  gmtime_r(&time, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts);
  return text;
}

// Returns the time as RFC 3339 has it, in UTC and with microseconds, such as
// "2026-11-30T02:10:12.000345Z".
inline std::string rfc3339_text(std::chrono::system_clock::time_point time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  const auto rest = std::chrono::floor<std::chrono::microseconds>(time - seconds);
  const std::time_t whole = std::chrono::system_clock::to_time_t(seconds);
  std::tm parts{};
  gmtime_r(&whole, &parts);
  char text[40];
  const size_t length = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  std::snprintf(text + length, sizeof text - length, ".%06dZ", static_cast<int>(rest.count()));
  return text;
}

}  // namespace hat
