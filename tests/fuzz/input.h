// SPDX-License-Identifier: Apache-2.0
// tests/fuzz/input.h: a fuzzer's bytes, which a target takes one after another as choices; 0 once
// they are used up.
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
  // Takes one byte as the length, and returns that many bytes, or as many as are left.
  std::string next_bytes() {
    const size_t wanted = next();  // before left_.size() is read
    const size_t count = std::min(wanted, left_.size());
    std::string bytes(reinterpret_cast<const char*>(left_.data()), count);
    left_ = left_.subspan(count);
    return bytes;
  }

 private:
  std::span<const uint8_t> left_;
};

}  // namespace hat
