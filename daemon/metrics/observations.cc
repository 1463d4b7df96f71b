// SPDX-License-Identifier: Apache-2.0
#include "daemon/metrics/observations.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/check.h"

namespace hat {
namespace {

constexpr uint64_t kExact = 256;  // numbers below have a bucket each
constexpr int kExactWidth = static_cast<int>(std::bit_width(kExact));
constexpr uint64_t kPerPower = 8;  // buckets of each power of two from kExact on
constexpr int kShiftOfFirst = kExactWidth - static_cast<int>(std::bit_width(kPerPower));

size_t bucket_of(uint64_t calls) {
  if (calls < kExact) return calls;
  const int power = static_cast<int>(std::bit_width(calls)) - kExactWidth;
  const uint64_t eighth = (calls >> (power + kShiftOfFirst)) - kPerPower;
  return kExact + static_cast<size_t>(power) * kPerPower + eighth;
}

// Returns the largest number that the bucket counts.
uint64_t bound_of(size_t bucket) {
  if (bucket < kExact) return bucket;
  const size_t power = (bucket - kExact) / kPerPower;
  const uint64_t eighth = (bucket - kExact) % kPerPower;
  return ((kPerPower + eighth + 1) << (power + kShiftOfFirst)) - 1;
}

constexpr std::array kSides = {Side::kClient, Side::kServer};

EndedCalls ended_calls(FunctionMetrics& function, Side side) {
  const FunctionTotals now = total(function, side);
  return {now.ended(), now.timed_out, now.request_sizes, now.reply_sizes, now.latency};
}

}  // namespace

void FlightSamples::add(uint64_t calls) {
  const size_t bucket = bucket_of(std::min(calls, kMost));
  DCHECK_LT(bucket, buckets_.size());
  ++buckets_[bucket];
}

void FlightSamples::add(const FlightSamples& other) {
  for (size_t i = 0; i < buckets_.size(); ++i) buckets_[i] += other.buckets_[i];
}

uint64_t FlightSamples::count() const {
  uint64_t count = 0;
  for (const uint32_t in_bucket : buckets_) count += in_bucket;
  return count;
}

uint64_t FlightSamples::at(double share) const {
  const auto wanted = static_cast<uint64_t>(std::ceil(share * static_cast<double>(count())));
  if (wanted == 0) return 0;
  uint64_t seen = 0;
  for (size_t i = 0; i < buckets_.size(); ++i) {
    seen += buckets_[i];
    if (seen >= wanted) return bound_of(i);
  }
  return kMost;
}

void EndedCalls::subtract(const EndedCalls& earlier) {
  calls -= earlier.calls;
  timed_out -= earlier.timed_out;
  request_sizes.subtract(earlier.request_sizes);
  reply_sizes.subtract(earlier.reply_sizes);
  latency.subtract(earlier.latency);
}

void Observations::sample(TimePoint now, MetricsRegistry& functions) {
  if (now - start_ >= kHalf) begin_half(now, functions);
  last_ = now;
  samples_.clear();
  uint64_t on_node = 0;
  for (FunctionMetrics& function : functions.all()) {
    for (const Side side : kSides) {
      const uint64_t in_flight = calls_in_flight(function, side);
      on_node += in_flight;
      if (in_flight != 0) samples_.push_back({&function, side, in_flight});
    }
  }
  for (const Sample& sample : samples_) {
    Half& half = watched_[sample.function][static_cast<size_t>(sample.side)].current;
    half.in_flight.add(sample.in_flight);
    half.node_in_flight.add(on_node);
  }
}

void Observations::begin_half(TimePoint now, MetricsRegistry& functions) {
  earlier_start_ = start_;
  start_ = now;
  for (FunctionMetrics& function : functions.all()) {
    for (const Side side : kSides) {
      if (!was_called(function, side)) continue;
      Watched& watched = watched_[&function][static_cast<size_t>(side)];
      watched.earlier = watched.current;
      watched.current = {.before = ended_calls(function, side)};
    }
  }
}

Observation Observations::of(FunctionMetrics& function, Side side) const {
  Observation seen{.ended = ended_calls(function, side)};
  const auto found = watched_.find(&function);
  if (found == watched_.end()) return seen;
  const auto& [earlier, current] = found->second[static_cast<size_t>(side)];
  seen.ended.subtract(earlier.before);
  seen.in_flight = earlier.in_flight;
  seen.in_flight.add(current.in_flight);
  seen.node_in_flight = earlier.node_in_flight;
  seen.node_in_flight.add(current.node_in_flight);
  return seen;
}

}  // namespace hat
