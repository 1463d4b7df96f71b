// SPDX-License-Identifier: Apache-2.0
// hatctl/function_rates.h: what each function did between two looks at /functions.
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "hatctl/quantile.h"

namespace hat::hatctl {

// One function, one side, all workers, since the daemon's start.
struct FunctionCounts {
  std::string service;
  std::string method;
  std::string side;
  uint64_t started = 0;
  uint64_t in_flight = 0;
  uint64_t ended = 0;
  uint64_t errors = 0;            // application exceptions, local errors, ends unknown
  uint64_t bytes_in = 0;          // of requests
  uint64_t bytes_out = 0;         // of replies
  std::vector<uint64_t> buckets;  // LatencyHistogram's, not cumulative
};
struct Snapshot {
  std::chrono::steady_clock::time_point taken;
  std::vector<FunctionCounts> functions;
};

// The same, per second.
struct FunctionRates {
  std::string service;
  std::string method;
  std::string side;
  bool ever_called = false;
  uint64_t in_flight = 0;
  double calls = 0;
  double errors = 0;
  double bytes_in = 0;
  double bytes_out = 0;
  std::optional<Quantile> p50;
  std::optional<Quantile> p99;
};

// Throws nlohmann::json::exception where the text is not what /functions answers.
Snapshot read_snapshot(const std::string& functions_body,
                       std::chrono::steady_clock::time_point taken);

// Most called first, then by name and side. Counts that fell were begun anew (the daemon was
// started again): they are taken to have begun at zero. `before` and `after` are at different
// times.
std::vector<FunctionRates> rates_between(const Snapshot& before, const Snapshot& after);

}  // namespace hat::hatctl
