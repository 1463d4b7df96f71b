// SPDX-License-Identifier: Apache-2.0
// tests/fuzz/input.h: reads a fuzzer's input byte by byte. A fuzz target uses each byte to choose
// its next step. After the last byte, next() returns 0.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace hat {

class FuzzInput {
 public:
  FuzzInput(const uint8_t* data, size_t size) : left_(data, size) {}

  bool empty() const { return left_.empty(); }
  uint8_t next() {
    if (left_.empty()) return 0;
    const uint8_t byte = left_.front();
    left_ = left_.subspan(1);
    return byte;
  }
  // Reads one byte as a length, and returns that many of the bytes after it, or fewer at the end of
  // the input.
  std::string next_bytes() {
    const size_t wanted = next();  // changes left_, so it comes before left_.size()
    const size_t count = std::min(wanted, left_.size());
    std::string bytes(reinterpret_cast<const char*>(left_.data()), count);
    left_ = left_.subspan(count);
    return bytes;
  }

 private:
  std::span<const uint8_t> left_;
};

}  // namespace hat
