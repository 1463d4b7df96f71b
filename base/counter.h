// SPDX-License-Identifier: Apache-2.0
// base/counter.h: counters of events that any thread may read while others count.
#pragma once

#include <atomic>
#include <cstdint>

namespace hat {

// One thread writes it; any thread reads it. Counting costs a load and a store.
class Counter {
 public:
  void add(uint64_t n = 1) {
    value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  void sub(uint64_t n = 1) { add(~n + 1); }
  uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> value_{0};
};

// Any thread writes it and reads it. Counting costs an atomic addition.
class SharedCounter {
 public:
  void add(uint64_t n = 1) { value_.fetch_add(n, std::memory_order_relaxed); }
  uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> value_{0};
};

}  // namespace hat
