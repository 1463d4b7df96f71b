// SPDX-License-Identifier: Apache-2.0
// base/handoff_queue.h: a queue with a fixed capacity, from one thread to another, without a lock.
//
// Thread   One thread calls push(). One thread calls pop(); it may be another one.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace hat {

template <class T>
class HandoffQueue {
 public:
  // Allocates all memory of the queue. The capacity is rounded up to a power of two.
  explicit HandoffQueue(size_t capacity) : slots_(std::bit_ceil(capacity)) {}

  // Returns false, and drops `value`, if the queue is full.
  bool push(T value) {
    const size_t end = end_.load(std::memory_order_relaxed);
    if (end - begin_.load(std::memory_order_acquire) == slots_.size()) return false;
    slots_[end & (slots_.size() - 1)] = std::move(value);
    end_.store(end + 1, std::memory_order_release);
    return true;
  }

  // Returns the oldest value; nullopt if the queue is empty.
  std::optional<T> pop() {
    const size_t begin = begin_.load(std::memory_order_relaxed);
    if (begin == end_.load(std::memory_order_acquire)) return std::nullopt;
    std::optional<T> value(std::move(slots_[begin & (slots_.size() - 1)]));
    begin_.store(begin + 1, std::memory_order_release);
    return value;
  }

 private:
  static constexpr size_t kCacheLine = 64;

  std::vector<T> slots_;
  alignas(kCacheLine) std::atomic<size_t> begin_{0};  // values popped; only pop() writes it
  alignas(kCacheLine) std::atomic<size_t> end_{0};    // values pushed; only push() writes it
};

}  // namespace hat
