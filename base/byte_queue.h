// SPDX-License-Identifier: Apache-2.0
// base/byte_queue.h: a queue of bytes that wait until a stream has space for them.
//
// Memory   at most a few times size(), plus four times `keep_bytes`; the number of bytes that have
//          passed through the queue does not matter. An empty queue uses at most `keep_bytes`.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace hat {

class ByteQueue {
 public:
  static constexpr size_t kKeepBytes = 16 * 1024;

  // Creates a queue that keeps at most `keep_bytes` bytes of memory while the queue is empty.
  ByteQueue() = default;
  explicit ByteQueue(size_t keep_bytes) : keep_bytes_(keep_bytes) {}

  bool empty() const { return begin_ == bytes_.size(); }
  size_t size() const { return bytes_.size() - begin_; }
  size_t memory_bytes() const { return bytes_.capacity(); }
  std::span<const std::byte> bytes() const { return {bytes_.data() + begin_, size()}; }

  void append(std::span<const std::byte> more) {
    if (begin_ >= keep_bytes_ && begin_ >= size()) give_back_front(more.size());
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
    // Frees the memory that a burst of data needed, because there can be thousands of idle
    // connections, each with an empty queue.
    if (bytes_.capacity() > keep_bytes_) std::vector<std::byte>().swap(bytes_);
    bytes_.clear();
  }

 private:
  // Reuses or frees the memory of consumed bytes: otherwise a queue that is never empty would keep
  // all bytes that ever passed through it. The function moves at most as many bytes as were
  // consumed since the last move. `more` is the number of bytes that the caller adds next.
  void give_back_front(size_t more) {
    if (bytes_.capacity() <= 2 * (size() + more) + 2 * keep_bytes_) {
      bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(begin_));
      begin_ = 0;
      return;
    }
    std::vector<std::byte> rest;
    rest.reserve(size() + more);
    rest.assign(bytes_.begin() + static_cast<std::ptrdiff_t>(begin_), bytes_.end());
    bytes_.swap(rest);
    begin_ = 0;
  }

  std::vector<std::byte> bytes_;
  size_t begin_ = 0;
  size_t keep_bytes_ = kKeepBytes;
};

}  // namespace hat
