// SPDX-License-Identifier: Apache-2.0
// base/time_histogram.h: a histogram of times in fixed memory, like HdrHistogram. Its error is at
// most 0.4 %.
//
// Below 256 ns there is a counter for each nanosecond. From 256 ns on there are 128 counters for
// each power of two. A TimeHistogram is plain data, so a pipe or shared memory can carry it.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace hat {

class TimeHistogram {
 public:
  static constexpr uint64_t kMaxNs = (1ull << 40) - 1;  // 18 minutes; longer times count as kMaxNs

  void record(uint64_t ns) {
    ns = std::min(ns, kMaxNs);
    ++counts_[index_of(ns)];
    ++count_;
    sum_ns_ += ns;
    min_ns_ = std::min(min_ns_, ns);
    max_ns_ = std::max(max_ns_, ns);
  }

  void add(const TimeHistogram& other) {
    for (size_t i = 0; i < kCounters; ++i) counts_[i] += other.counts_[i];
    count_ += other.count_;
    sum_ns_ += other.sum_ns_;
    min_ns_ = std::min(min_ns_, other.min_ns_);
    max_ns_ = std::max(max_ns_, other.max_ns_);
  }

  uint64_t count() const { return count_; }
  // The next functions return 0 if no time was recorded.
  uint64_t min_ns() const { return count_ == 0 ? 0 : min_ns_; }
  uint64_t max_ns() const { return max_ns_; }
  double mean_ns() const {
    return count_ == 0 ? 0 : static_cast<double>(sum_ns_) / static_cast<double>(count_);
  }

  // Returns a quantile: the time in ns that the fraction `share` (0 to 1) of all times does not
  // exceed. The result is the middle of a counter's range, but not more than max_ns().
  double quantile_ns(double share) const {
    const double wanted = std::ceil(share * static_cast<double>(count_));
    uint64_t rank =
        std::clamp<uint64_t>(static_cast<uint64_t>(wanted), 1, std::max<uint64_t>(count_, 1));
    for (size_t i = 0; i < kCounters; ++i) {
      if (counts_[i] >= rank) return std::min(middle_of(i), static_cast<double>(max_ns_));
      rank -= counts_[i];
    }
    return 0;
  }

 private:
  static constexpr int kStepBits = 7;
  static constexpr size_t kSteps = 1u << kStepBits;
  static constexpr size_t kCounters = (40 - kStepBits + 1) * kSteps;

  // Returns the counter's index for a time. From 2^8 ns on, only the time's 8 leading bits count:
  // its last `shift` bits are dropped.
  static constexpr size_t index_of(uint64_t ns) {
    const int shift = std::max(static_cast<int>(std::bit_width(ns)) - (kStepBits + 1), 0);
    return static_cast<size_t>(shift) * kSteps + static_cast<size_t>(ns >> shift);
  }
  static constexpr double middle_of(size_t index) {
    const size_t shift = index < 2 * kSteps ? 0 : index / kSteps - 1;
    const uint64_t lowest = static_cast<uint64_t>(index - shift * kSteps) << shift;
    return static_cast<double>(lowest) + static_cast<double>((1ull << shift) - 1) / 2;
  }

  std::array<uint32_t, kCounters> counts_{};
  uint64_t count_ = 0;
  uint64_t sum_ns_ = 0;
  uint64_t min_ns_ = UINT64_MAX;
  uint64_t max_ns_ = 0;
};

}  // namespace hat
