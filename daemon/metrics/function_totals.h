// SPDX-License-Identifier: Apache-2.0
// daemon/metrics/function_totals.h: one function's counters on one side, summed over all workers.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "daemon/metrics/function_metrics.h"

namespace hat {

struct FunctionTotals {
  std::array<uint64_t, kCallOutcomeNames.size()> outcomes{};
  HistogramSnapshot<kLatencyBuckets> latency;     // nanoseconds
  HistogramSnapshot<kSizeBuckets> request_sizes;  // bytes
  HistogramSnapshot<kSizeBuckets> reply_sizes;    // bytes
  uint64_t started = 0;
  uint64_t timed_out = 0;
  uint64_t retries = 0;
  // How often the calls used each way; without zeros. Empty on the server's side, which does not
  // count ways.
  std::vector<WayCount> ways;
  std::array<uint64_t, kFallbackCount> fallbacks{};

  // Adds the totals of another function.
  void add(const FunctionTotals& other) {
    const auto add_each = [](auto& sums, const auto& more) {
      for (size_t i = 0; i < sums.size(); ++i) sums[i] += more[i];
    };
    add_each(outcomes, other.outcomes);
    latency.add(other.latency);
    request_sizes.add(other.request_sizes);
    reply_sizes.add(other.reply_sizes);
    started += other.started;
    timed_out += other.timed_out;
    retries += other.retries;
    for (const WayCount& more : other.ways) {
      const auto known = std::ranges::find(ways, more.way, &WayCount::way);
      if (known == ways.end()) {
        ways.push_back(more);
      } else {
        known->calls += more.calls;
      }
    }
    add_each(fallbacks, other.fallbacks);
  }
  uint64_t ended() const {
    uint64_t sum = 0;
    for (const uint64_t count : outcomes) sum += count;
    return sum;
  }
  // Returns the number of calls in flight. Returns 0 if more calls have ended than begun: the
  // counters are read without a lock, so the end of a call can be counted before its beginning.
  uint64_t in_flight() const { return started > ended() ? started - ended() : 0; }
};

// Returns true if a call of the function has begun on `side`; cheaper than total().
inline bool was_called(FunctionMetrics& function, Side side) {
  for (size_t worker = 0; worker < function.workers(); ++worker) {
    if (function.at(side, worker).started.value() != 0) return true;
  }
  return false;
}

// Returns the number of calls in flight, as FunctionTotals::in_flight(); cheaper than total().
inline uint64_t calls_in_flight(FunctionMetrics& function, Side side) {
  if (!was_called(function, side)) return 0;
  uint64_t started = 0;
  uint64_t ended = 0;
  // Calls that begin and end while this function reads must not count, so it reads `started` first.
  for (size_t worker = 0; worker < function.workers(); ++worker) {
    const FunctionCounters& counters = function.at(side, worker);
    started += counters.started.value();
    for (const Counter& outcome : counters.requests) ended += outcome.value();
  }
  return started > ended ? started - ended : 0;
}

// Returns FunctionTotals::ways. Looks at no counter if no call of the function has ended.
inline std::vector<WayCount> total_ways(FunctionMetrics& function) {
  bool used = false;
  for (size_t worker = 0; worker < function.workers(); ++worker) {
    used = used || function.at(Side::kClient, worker).ways.used();
  }
  if (!used) return {};
  CallWays::Counts counts{};
  for (size_t worker = 0; worker < function.workers(); ++worker) {
    function.at(Side::kClient, worker).ways.add_to(counts);
  }
  return CallWays::list(counts);
}

// Returns the number of calls that an `allow` rule denied: [0] refused, [1] served in a dry run.
inline std::array<uint64_t, 2> total_denied(FunctionMetrics& function) {
  std::array<uint64_t, 2> sums{};
  for (size_t worker = 0; worker < function.workers(); ++worker) {
    const auto& denied = function.at(Side::kServer, worker).denied;
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += denied[i].value();
  }
  return sums;
}

inline FunctionTotals total(FunctionMetrics& function, Side side) {
  FunctionTotals sum;
  for (size_t worker = 0; worker < function.workers(); ++worker) {
    const FunctionCounters& counters = function.at(side, worker);
    for (size_t i = 0; i < sum.outcomes.size(); ++i) {
      sum.outcomes[i] += counters.requests[i].value();
    }
    sum.latency.add(counters.latency.read());
    sum.started += counters.started.value();
    sum.request_sizes.add(counters.request_sizes.read());
    sum.reply_sizes.add(counters.reply_sizes.read());
    sum.timed_out += counters.timed_out.value();
    sum.retries += counters.retries.value();
    for (size_t i = 0; i < sum.fallbacks.size(); ++i) {
      sum.fallbacks[i] += counters.fallbacks[i].value();
    }
  }
  if (side == Side::kClient) sum.ways = total_ways(function);
  return sum;
}

inline uint64_t total(const std::vector<const WorkerCounters*>& workers,
                      Counter WorkerCounters::*counter) {
  uint64_t sum = 0;
  for (const WorkerCounters* worker : workers) sum += (worker->*counter).value();
  return sum;
}

inline uint64_t total(const std::vector<const WorkerCounters*>& workers,
                      Counter UpstreamCounters::*counter) {
  uint64_t sum = 0;
  for (const WorkerCounters* worker : workers) sum += (worker->upstream.*counter).value();
  return sum;
}

inline uint64_t total(const std::vector<const WorkerCounters*>& workers,
                      Counter RdmaCounters::*counter) {
  uint64_t sum = 0;
  for (const WorkerCounters* worker : workers) sum += (worker->rdma.*counter).value();
  return sum;
}

inline uint64_t total(const std::vector<const WorkerCounters*>& workers, engine::Failure failure) {
  uint64_t sum = 0;
  for (const WorkerCounters* worker : workers) {
    sum += worker->local_replies[static_cast<size_t>(failure)].value();
  }
  return sum;
}

}  // namespace hat
