// SPDX-License-Identifier: Apache-2.0
// kv/server/operations.h: counters of HatKV's calls by function: outcomes and durations.
//
// Thread   Any thread may use the counters.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

#include "base/counter.h"
#include "base/histogram.h"

namespace hat {

enum class Operation : uint8_t {
  kGet,
  kPut,
  kMultiget,
  kMultiput,
  kRemove,
  kScan,
  kStats,
  kBackup
};
constexpr std::array<std::string_view, 8> kOperationNames = {
    "get", "put", "multiget", "multiput", "remove", "scan", "stats", "backup"};

enum class Outcome : uint8_t { kOk, kNotFound, kRefused };
constexpr std::array<std::string_view, 3> kOutcomeNames = {"ok", "not_found", "refused"};

struct OperationCounters {
  std::array<SharedCounter, kOutcomeNames.size()> outcomes;
  // The time of each call in the handler, waits for the disk included. The upper bounds of the
  // histogram's buckets are 1 µs, 2 µs, 4 µs … 67 s, and +Inf.
  LatencyHistogram<SharedCounter, 28> durations;

  void ended(Outcome outcome) { outcomes[static_cast<size_t>(outcome)].add(); }
  uint64_t calls() const {
    uint64_t calls = 0;
    for (const SharedCounter& count : outcomes) calls += count.value();
    return calls;
  }
};

struct Operations {
  std::array<OperationCounters, kOperationNames.size()> counters;
  std::atomic<int64_t> connections{0};  // connections that are open now

  OperationCounters& operator[](Operation operation) {
    return counters[static_cast<size_t>(operation)];
  }
};

}  // namespace hat
