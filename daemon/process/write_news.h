// SPDX-License-Identifier: Apache-2.0
// daemon/process/write_news.h: decides which results of writes to a file are worth a message.
//
// An error is reported once for its path and its reason. A disk that fails and works in turns
// causes at most one warning in kPause, and after it one message that the file can be written
// again. An error that lasts is always reported.
#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace hat {

class WriteNews {
 public:
  enum Message { kNone, kFails, kWorksAgain };
  static constexpr std::chrono::seconds kPause{10};

  // Returns the message that the caller is to log for a write at `now`. `error` is its errno; 0 if
  // all was written.
  Message of(const std::string& path, int error, std::chrono::steady_clock::time_point now) {
    if (error == 0) {
      const bool was_reported = error_ != 0;
      error_ = 0;
      return was_reported ? kWorksAgain : kNone;
    }
    const bool is_same_path = path == path_;
    if (is_same_path && (error == error_ || (warned_ && now - *warned_ < kPause))) return kNone;
    path_ = path;
    error_ = error;
    warned_ = now;
    return kFails;
  }

 private:
  int error_ = 0;  // the last one reported; 0: there was none, or the file could be written since
  std::string path_;  // of the last warning
  std::optional<std::chrono::steady_clock::time_point> warned_;
};

}  // namespace hat
