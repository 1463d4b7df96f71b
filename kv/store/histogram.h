// SPDX-License-Identifier: Apache-2.0
// kv/store/histogram.h: counts quantities in buckets whose bounds are powers of two.
//
// Thread   any thread may call add() while others call read(); read() may miss a concurrent add().
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace hat {

// Bucket i counts the quantities that are at most 2^i and larger than the bound of bucket i - 1.
// The last bucket also counts all larger quantities.
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
