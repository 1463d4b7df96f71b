// SPDX-License-Identifier: Apache-2.0
// base/line_budget.h: bounds the log lines that a peer can cause.
//
// Thread   none of its own; the caller's clock.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

namespace hat {

class LineBudget {
 public:
  // Lines in each period. The count starts anew with the first line after a period has ended.
  static constexpr uint32_t kLines = 20;
  static constexpr std::chrono::seconds kPeriod{1};

  // Returns nothing if the line must be left out, and otherwise how many lines were left out since
  // the last one that was written.
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
