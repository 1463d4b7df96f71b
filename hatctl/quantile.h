// SPDX-License-Identifier: Apache-2.0
// hatctl/quantile.h: an estimate of a quantile from a histogram in powers of two.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace hat::hatctl {

struct Quantile {
  double microseconds = 0;
  bool at_least = false;  // it fell into the last bucket, which has no upper bound
};

// `counts[i]` is of what took at most 2^i µs and more than 2^(i-1); the last bucket holds the rest.
// Inside a bucket values are taken to be spread evenly, as Prometheus' histogram_quantile does, so
// the estimate is within a factor of two. No value when nothing was counted. 0 < quantile <= 1.
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
