// SPDX-License-Identifier: Apache-2.0
// daemon/process/unix_time.h: times in seconds since 1970, and as text.
#pragma once

#include <chrono>
#include <cstdint>
#include <ctime>
#include <string>

namespace hat {

inline double unix_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
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

}  // namespace hat
