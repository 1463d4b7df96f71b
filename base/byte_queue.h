// SPDX-License-Identifier: Apache-2.0
// base/byte_queue.h: bytes that wait for a stream with room; keeps its memory up to a bound.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace hat {

class ByteQueue {
 public:
  bool empty() const { return begin_ == bytes_.size(); }
  size_t size() const { return bytes_.size() - begin_; }
  std::span<const std::byte> bytes() const { return {bytes_.data() + begin_, size()}; }

  void append(std::span<const std::byte> more) {
    bytes_.insert(bytes_.end(), more.begin(), more.end());
  }
  void consume(size_t count) {
    begin_ += count;
    if (empty()) clear();
  }
  void drop_last(size_t count) {
    bytes_.resize(bytes_.size() - count);
    if (empty()) clear();
  }
  void clear() {
    begin_ = 0;
    // What a burst needed is given back: thousands of idle connections must not each keep a window.
    if (bytes_.capacity() > kKeepBytes) std::vector<std::byte>().swap(bytes_);
    bytes_.clear();
  }

 private:
  static constexpr size_t kKeepBytes = 16 * 1024;

  std::vector<std::byte> bytes_;
  size_t begin_ = 0;
};

}  // namespace hat
