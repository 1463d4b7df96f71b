// SPDX-License-Identifier: Apache-2.0
// bench/dds/value.h: test values: each is made for a number, which a test can read from the value
// if the value is intact.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

namespace hat::bench {

// Returns the 8-byte word at the offset `at` of the value for `number`. The last word of a value
// can be shorter.
inline uint64_t word_of_value(uint64_t number, size_t at) {
  return number + at * 0x9e3779b97f4a7c15;
}

// Fills `value`, which must have at least 8 bytes, with the value for `number`.
inline void fill_value(std::span<std::byte> value, uint64_t number) {
  for (size_t at = 0; at < value.size(); at += 8) {
    const uint64_t word = word_of_value(number, at);
    std::memcpy(value.data() + at, &word, std::min<size_t>(value.size() - at, 8));
  }
}

// Returns the number for which the value was made, or std::nullopt if the value is not intact.
inline std::optional<uint64_t> number_of(std::span<const std::byte> value) {
  uint64_t number = 0;
  std::memcpy(&number, value.data(), sizeof number);
  for (size_t at = 8; at < value.size(); at += 8) {
    const uint64_t word = word_of_value(number, at);
    const size_t part = std::min<size_t>(value.size() - at, 8);
    if (std::memcmp(value.data() + at, &word, part) != 0) return std::nullopt;
  }
  return number;
}

// Checks that each number below `count` was seen exactly once.
class Tally {
 public:
  explicit Tally(uint64_t count) : seen_(count) {}
  void see(std::optional<uint64_t> number) {
    if (!number || *number >= seen_.size()) {
      ++strange_;
    } else if (seen_[*number]) {
      ++twice_;
    } else {
      seen_[*number] = true;
      ++once_;
    }
  }
  uint64_t lost() const { return seen_.size() - once_; }
  uint64_t twice() const { return twice_; }
  // Returns how many of the seen values were not intact, or had a number that is not below `count`.
  uint64_t strange() const { return strange_; }
  bool is_right() const { return lost() == 0 && twice_ == 0 && strange_ == 0; }

 private:
  std::vector<bool> seen_;
  uint64_t once_ = 0;
  uint64_t twice_ = 0;
  uint64_t strange_ = 0;
};

}  // namespace hat::bench
