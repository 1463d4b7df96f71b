// SPDX-License-Identifier: Apache-2.0
// base/line_budget.h: limits how many log lines per second a peer can cause.
//
// Thread   not thread-safe. The caller passes the time.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

namespace hat {

class LineBudget {
 public:
  // At most kLines lines are written in each period of kPeriod. The first line after the end of a
  // period starts the next period.
  static constexpr uint32_t kLines = 20;
  static constexpr std::chrono::seconds kPeriod{1};

  // Decides whether the caller may write one log line at time `now`. Returns std::nullopt if the
  // caller must leave the line out. If the caller may write the line, returns the number of lines
  // that were left out after the last written line.
  template <class TimePoint>
  std::optional<uint64_t> take(TimePoint now) {
    const auto time = now.time_since_epoch();
    if (!began_ || time - *began_ >= kPeriod) {
      began_ = time;
      written_ = 0;
    }
    if (written_ == kLines) {
      ++left_out_;
      return std::nullopt;
    }
    ++written_;
    return std::exchange(left_out_, 0);
  }

 private:
  std::optional<std::chrono::nanoseconds> began_;
  uint32_t written_ = 0;
  uint64_t left_out_ = 0;
};

}  // namespace hat
