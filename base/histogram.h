// SPDX-License-Identifier: Apache-2.0
// base/histogram.h: counts quantities and times in buckets whose bounds are powers of two.
//
// Thread   the type of counter (base/counter.h), a template parameter, decides: only one thread may
//          call add() if it is Counter, and any thread if it is SharedCounter. Any thread can call
//          read() at the same time; read() can miss a concurrent add().
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace hat {

template <size_t Buckets>
struct HistogramSnapshot {
  std::array<uint64_t, Buckets> buckets{};  // not cumulative
  uint64_t sum = 0;                         // the sum of all quantities

  uint64_t count() const {
    uint64_t count = 0;
    for (const uint64_t in_bucket : buckets) count += in_bucket;
    return count;
  }
  void add(const HistogramSnapshot& other) {
    for (size_t i = 0; i < Buckets; ++i) buckets[i] += other.buckets[i];
    sum += other.sum;
  }
  // Subtracts a snapshot of the same histogram that was read earlier.
  void subtract(const HistogramSnapshot& earlier) {
    for (size_t i = 0; i < Buckets; ++i) buckets[i] -= earlier.buckets[i];
    sum -= earlier.sum;
  }
};

// Counts quantities. Bucket i counts those that are at most Unit · 2^i and larger than the bound
// of bucket i - 1. The last bucket also counts all larger quantities.
template <class AnyCounter, size_t Buckets, uint64_t Unit = 1>
class Histogram {
 public:
  using Snapshot = HistogramSnapshot<Buckets>;

  static constexpr size_t bucket_of(uint64_t quantity) {
    const uint64_t units = quantity / Unit + (quantity % Unit != 0 ? 1 : 0);
    const size_t bucket = units <= 1 ? 0 : static_cast<size_t>(std::bit_width(units - 1));
    return std::min(bucket, Buckets - 1);
  }
  void add(uint64_t quantity) {
    buckets_[bucket_of(quantity)].add(1);
    sum_.add(quantity);
  }
  Snapshot read() const {
    Snapshot snapshot;
    for (size_t i = 0; i < Buckets; ++i) snapshot.buckets[i] = buckets_[i].value();
    snapshot.sum = sum_.value();
    return snapshot;
  }

 private:
  std::array<AnyCounter, Buckets> buckets_;
  AnyCounter sum_;
};

// Counts times. The bounds are 1 µs, 2 µs, 4 µs …, and the sum is in nanoseconds. A time below 0
// counts as 0.
template <class AnyCounter, size_t Buckets>
class LatencyHistogram : public Histogram<AnyCounter, Buckets, 1000> {
 public:
  void add(std::chrono::nanoseconds took) {
    const auto ns = static_cast<uint64_t>(std::max<int64_t>(took.count(), 0));
    Histogram<AnyCounter, Buckets, 1000>::add(ns);
  }
};

}  // namespace hat
