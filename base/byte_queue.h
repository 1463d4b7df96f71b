// SPDX-License-Identifier: Apache-2.0
// base/byte_queue.h: bytes that wait for a stream with room.
//
// Memory   a few times what waits, and 64 KiB, however much goes through; 16 KiB where it is empty.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace hat {

class ByteQueue {
 public:
  bool empty() const { return begin_ == bytes_.size(); }
  size_t size() const { return bytes_.size() - begin_; }
  size_t memory_bytes() const { return bytes_.capacity(); }
  std::span<const std::byte> bytes() const { return {bytes_.data() + begin_, size()}; }

  void append(std::span<const std::byte> more) {
    if (begin_ >= kKeepBytes && begin_ >= size()) give_back_front(more.size());
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

  // A queue that is never empty must not keep all that ever went through it. What moves is no more
  // than what was consumed since it moved last.
  void give_back_front(size_t more) {
    std::vector<std::byte> rest;
    rest.reserve(size() + more);
    rest.assign(bytes_.begin() + static_cast<std::ptrdiff_t>(begin_), bytes_.end());
    bytes_.swap(rest);
    begin_ = 0;
  }

  std::vector<std::byte> bytes_;
  size_t begin_ = 0;
};

}  // namespace hat
