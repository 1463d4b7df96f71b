// SPDX-License-Identifier: Apache-2.0
// base/counter.h: counters of events. Any thread can read a counter while another thread counts.
#pragma once

#include <atomic>
#include <cstdint>

namespace hat {

// A counter to which only one thread adds. Any thread reads the counter. Adding costs a load and a
// store.
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

// A counter to which any thread adds, and which any thread reads. Adding costs an atomic addition.
class SharedCounter {
 public:
  void add(uint64_t n = 1) { value_.fetch_add(n, std::memory_order_relaxed); }
  uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> value_{0};
};

}  // namespace hat
