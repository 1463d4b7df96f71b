// SPDX-License-Identifier: Apache-2.0
// base/byte_queue.h: a queue of bytes that wait until a stream has space for them.
//
// Memory   at most a few times the queued bytes, plus 64 KiB, however many bytes pass through; at
//          most 16 KiB while the queue is empty.
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
    // Frees the memory that a burst needed: thousands of idle connections must not each keep a
    // window.
    if (bytes_.capacity() > kKeepBytes) std::vector<std::byte>().swap(bytes_);
    bytes_.clear();
  }

 private:
  static constexpr size_t kKeepBytes = 16 * 1024;

  // Frees the memory of consumed bytes, because a queue that is never empty would otherwise keep
  // all bytes that ever passed through it. Moves at most as many bytes as were consumed since the
  // last move.
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
