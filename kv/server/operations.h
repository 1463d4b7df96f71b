// SPDX-License-Identifier: Apache-2.0
// kv/server/operations.h: counters of HatKV's calls by function: outcomes and durations.
//
// Thread   Any thread may use the counters.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

#include "kv/store/histogram.h"

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
  std::array<std::atomic<uint64_t>, kOutcomeNames.size()> outcomes{};
  Histogram duration_us;  // microseconds in the handler, with waits for the disk

  void ended(Outcome outcome) {
    outcomes[static_cast<size_t>(outcome)].fetch_add(1, std::memory_order_relaxed);
  }
  uint64_t calls() const {
    uint64_t calls = 0;
    for (const auto& count : outcomes) calls += count.load(std::memory_order_relaxed);
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
