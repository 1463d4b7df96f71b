// SPDX-License-Identifier: Apache-2.0
// kv/ycsb/latencies.h: a histogram of latencies with a relative error of at most 1%.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace hat::ycsb {

// Latencies are in nanoseconds. Those of 2^42 ns (73 minutes) or more share the last bucket. The
// size is 36 KiB, for any number of latencies. One thread at a time.
class Latencies {
 public:
  void add(uint64_t nanoseconds) {
    ++buckets_[bucket_of(std::min(nanoseconds, kMost))];
    ++count_;
    sum_ += nanoseconds;
    least_ = std::min(least_, nanoseconds);
    most_ = std::max(most_, nanoseconds);
  }

  void add(const Latencies& others) {
    for (size_t i = 0; i < buckets_.size(); ++i) buckets_[i] += others.buckets_[i];
    count_ += others.count_;
    sum_ += others.sum_;
    least_ = std::min(least_, others.least_);
    most_ = std::max(most_, others.most_);
  }

  // Each returns 0 if nothing was added.
  uint64_t count() const { return count_; }
  double average() const { return count_ == 0 ? 0 : double(sum_) / double(count_); }
  uint64_t least() const { return count_ == 0 ? 0 : least_; }
  uint64_t most() const { return most_; }

  // Returns the latency that `part` (0 to 1) of all operations did not exceed: the upper bound of
  // its bucket.
  uint64_t quantile(double part) const {
    const auto wanted =
        std::max<uint64_t>(1, static_cast<uint64_t>(std::llround(part * double(count_))));
    uint64_t seen = 0;
    for (size_t i = 0; i < buckets_.size(); ++i) {
      seen += buckets_[i];
      if (seen >= wanted) return std::min(largest_of(i), most_);
    }
    return 0;
  }

 private:
  // Numbers below 2^8 have a bucket each. Each range from 2^n to 2^(n+1) above has 2^7 buckets of
  // equal width.
  static constexpr int kBits = 7;
  static constexpr int kMostBits = 42;
  static constexpr uint64_t kMost = (uint64_t{1} << kMostBits) - 1;
  static constexpr size_t kBuckets = size_t{kMostBits - kBits + 1} << kBits;

  static size_t bucket_of(uint64_t number) {
    const int shift = std::max(0, static_cast<int>(std::bit_width(number)) - kBits - 1);
    return (static_cast<size_t>(shift) << kBits) + static_cast<size_t>(number >> shift);
  }
  static uint64_t largest_of(size_t bucket) {
    if (bucket < (size_t{2} << kBits)) return bucket;
    const size_t shift = (bucket >> kBits) - 1;
    const uint64_t begin = (bucket & ((size_t{1} << kBits) - 1)) + (uint64_t{1} << kBits);
    return ((begin + 1) << shift) - 1;
  }

  std::array<uint64_t, kBuckets> buckets_{};
  uint64_t count_ = 0, sum_ = 0, least_ = UINT64_MAX, most_ = 0;
};

}  // namespace hat::ycsb
