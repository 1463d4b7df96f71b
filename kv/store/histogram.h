// SPDX-License-Identifier: Apache-2.0
// kv/store/histogram.h: a histogram whose buckets have powers of two as bounds.
//
// Thread   Any thread may call add() and read(). A read() can miss an add() at the same time.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace hat {

// Bucket i counts the quantities from 2^(i-1) + 1 to 2^i; bucket 0 counts 0 and 1. The last bucket
// also counts all larger quantities.
class Histogram {
 public:
  static constexpr size_t kBuckets = 28;

  struct Snapshot {
    std::array<uint64_t, kBuckets> buckets{};  // not cumulative
    uint64_t count = 0;
    uint64_t sum = 0;
  };

  void add(uint64_t quantity) {
    const size_t bucket = quantity <= 1 ? 0 : static_cast<size_t>(std::bit_width(quantity - 1));
    buckets_[std::min(bucket, kBuckets - 1)].fetch_add(1, std::memory_order_relaxed);
    sum_.fetch_add(quantity, std::memory_order_relaxed);
  }

  Snapshot read() const {
    Snapshot snapshot;
    for (size_t i = 0; i < kBuckets; ++i) {
      snapshot.buckets[i] = buckets_[i].load(std::memory_order_relaxed);
      snapshot.count += snapshot.buckets[i];
    }
    snapshot.sum = sum_.load(std::memory_order_relaxed);
    return snapshot;
  }

 private:
  std::array<std::atomic<uint64_t>, kBuckets> buckets_{};
  std::atomic<uint64_t> sum_{0};
};

}  // namespace hat
