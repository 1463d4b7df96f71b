// SPDX-License-Identifier: Apache-2.0
// config/duration_buckets.h: the bounds of the buckets in which the daemon counts durations, and
// the key `admin.duration_buckets`, which chooses those that the metrics page shows.
//
// The workers always count in all buckets, whose bounds are powers of two, because a worker finds
// the bucket of a duration with one instruction.
#pragma once

#include <bitset>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace hat {

struct YamlValue;  // config/yaml.h

inline constexpr size_t kDurationBounds = 24;  // 1 µs, 2 µs, 4 µs … 8.388608 s

// Returns a bound. Requires i < kDurationBounds.
constexpr std::chrono::microseconds duration_bound(size_t i) {
  return std::chrono::microseconds(int64_t{1} << i);
}

// The bounds that the metrics page shows.
using DurationBuckets = std::bitset<kDurationBounds>;

inline DurationBuckets all_duration_buckets() { return DurationBuckets().set(); }

// Reads a list of at least one bound, in ascending order. Adds errors to the Diagnostics of
// `value`; returns all bounds in this case. `what` is the name of the key in messages.
DurationBuckets read_duration_buckets(const YamlValue& value, std::string_view what);

// Returns the bounds as in a file, "[64us, 1024us]", or "all".
std::string duration_buckets_text(const DurationBuckets& buckets);

}  // namespace hat
