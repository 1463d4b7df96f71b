// SPDX-License-Identifier: Apache-2.0
// daemon/metrics/observations.h: how the functions were called in the last minutes: the sizes of
// their messages, and the calls in flight. daemon/routing/advice.h compares this with the hints.
//
// The window of an observation is between kHalf and 2 · kHalf long once the daemon has run for
// kHalf: a window consists of a complete half and the current one.
//
// Bounds   For each side of a function that was ever called, about 8 KiB.
// Thread   Only the main thread uses this file. It reads the counters of the workers.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/reactor.h"
#include "daemon/metrics/function_totals.h"

namespace hat {

// Counts samples of a number of calls in flight. Numbers below 256 have a bucket each. Above, each
// power of two has 8 buckets, so at() returns at most an eighth too much.
class FlightSamples {
 public:
  static constexpr uint64_t kMost = 65'535;  // larger numbers count as this one

  void add(uint64_t calls);
  void add(const FlightSamples& other);
  // Returns the number of samples.
  uint64_t count() const;
  // Returns a number that at least `share` (above 0, at most 1) of the samples do not exceed;
  // 0 if there is no sample.
  uint64_t at(double share) const;

 private:
  std::array<uint32_t, 320> buckets_{};
};

// The ended calls of one function on one side, as its counters count them.
struct EndedCalls {
  uint64_t calls = 0;
  uint64_t timed_out = 0;
  HistogramSnapshot<kSizeBuckets> request_sizes;
  HistogramSnapshot<kSizeBuckets> reply_sizes;
  HistogramSnapshot<kLatencyBuckets> latency;

  // Subtracts what the counters said earlier.
  void subtract(const EndedCalls& earlier);
};

// How one function was called on one side of this node, within the window.
struct Observation {
  EndedCalls ended;
  // Calls in flight, sampled while the function had any: of the function on this side, and of all
  // functions on both sides of this node.
  FlightSamples in_flight;
  FlightSamples node_in_flight;
};

class Observations {
 public:
  static constexpr std::chrono::milliseconds kInterval{250};  // how often to call sample()
  static constexpr std::chrono::minutes kHalf{10};

  explicit Observations(TimePoint now) : earlier_start_(now), start_(now), last_(now) {}

  // Samples the calls in flight of all functions.
  void sample(TimePoint now, MetricsRegistry& functions);
  // Returns the length of the window, until the last sample.
  std::chrono::nanoseconds window() const { return last_ - earlier_start_; }
  // Returns the observation of one side of a function; without calls if there were none.
  Observation of(FunctionMetrics& function, Side side) const;

 private:
  struct Half {
    EndedCalls before;  // the calls that had ended when the half began
    FlightSamples in_flight;
    FlightSamples node_in_flight;
  };
  struct Watched {
    Half earlier;
    Half current;
  };
  struct Sample {
    FunctionMetrics* function;
    Side side;
    uint64_t in_flight;
  };

  void begin_half(TimePoint now, MetricsRegistry& functions);

  TimePoint earlier_start_;
  TimePoint start_;  // of the current half; the same as earlier_start_ during the first half
  TimePoint last_;   // sample
  std::unordered_map<FunctionMetrics*, std::array<Watched, 2>> watched_;  // sides by enum Side
  std::vector<Sample> samples_;  // of one call of sample(); a member to keep its memory
};

}  // namespace hat
