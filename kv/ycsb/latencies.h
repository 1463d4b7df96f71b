// SPDX-License-Identifier: Apache-2.0
// kv/ycsb/latencies.h: how long operations took: counts in buckets within 1% of what they hold.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace hat::ycsb {

// In nanoseconds, up to 2^42 of them (73 minutes); longer ones count as that. 36 KiB, however many
// there are. One thread at a time.
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

  // All 0 where there is none.
  uint64_t count() const { return count_; }
  double average() const { return count_ == 0 ? 0 : double(sum_) / double(count_); }
  uint64_t least() const { return count_ == 0 ? 0 : least_; }
  uint64_t most() const { return most_; }

  // That this part of all, 0 to 1, took at most: the largest of its bucket.
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
  // Numbers below 2^8 have a bucket each; every doubling above has 2^7 of equal width.
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
