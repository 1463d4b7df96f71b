// SPDX-License-Identifier: Apache-2.0
// hatctl/quantile.h: estimates a quantile from a histogram whose bucket bounds are powers of two.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace hat::hatctl {

struct Quantile {
  double microseconds = 0;
  bool at_least = false;  // the quantile is in the last bucket, which has no upper bound
};

// Returns an estimate of the quantile, or no value if all counts are 0. Requires 0 < quantile <= 1.
// `counts[i]` is the number of values above 2^(i-1) µs and up to 2^i µs. The first bucket begins at
// 0, and the last bucket has all larger values. Like Prometheus' histogram_quantile, the estimate
// assumes that the values in a bucket are spread evenly. It is within a factor of two of the true
// value, except in the first and the last bucket.
inline std::optional<Quantile> estimate(std::span<const uint64_t> counts, double quantile) {
  uint64_t total = 0;
  for (const uint64_t count : counts) total += count;
  if (total == 0) return std::nullopt;
  const double rank = quantile * static_cast<double>(total);
  double below = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    const auto count = static_cast<double>(counts[i]);
    const double lower = i == 0 ? 0 : static_cast<double>(uint64_t{1} << (i - 1));
    if (i + 1 == counts.size()) return Quantile{lower, true};
    const double upper = static_cast<double>(uint64_t{1} << i);
    if (count > 0 && below + count >= rank) {
      return Quantile{lower + (upper - lower) * (rank - below) / count, false};
    }
    below += count;
  }
  return std::nullopt;
}

}  // namespace hat::hatctl
