// SPDX-License-Identifier: Apache-2.0
// hatctl/function_rates.h: computes rates of each function, such as calls per second, from two
// answers of hatrpcd to GET /functions. Each answer has counts since the daemon's start.
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "hatctl/quantile.h"

namespace hat::hatctl {

// The counts of one function on one side (client or server): the sums over all workers since the
// start of the daemon.
struct FunctionCounts {
  std::string service;
  std::string method;
  std::string side;
  uint64_t started = 0;
  uint64_t in_flight = 0;
  uint64_t ended = 0;
  uint64_t errors = 0;  // application exceptions, errors of the daemon, calls with unknown outcome
  uint64_t bytes_in = 0;          // of requests
  uint64_t bytes_out = 0;         // of replies
  std::vector<uint64_t> buckets;  // calls per bucket of base/histogram.h; not cumulative
};
struct Snapshot {
  std::chrono::steady_clock::time_point taken;
  std::vector<FunctionCounts> functions;
};

// The activity of one function on one side between two snapshots. Rates are per second.
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

// Reads `functions_body`, the body of an answer to GET /functions that arrived at the time `taken`.
// Throws nlohmann::json::exception if the text is not such an answer.
Snapshot read_snapshot(const std::string& functions_body,
                       std::chrono::steady_clock::time_point taken);

// Returns the rates of all functions in `after`. The function with the most calls per second comes
// first; functions with equal rates are ordered by service, method and side. If a function has
// lower counts in `after` than in `before`, the daemon was restarted in between, and the counts in
// `before` are treated as zero. The two snapshots must have been taken at different times.
std::vector<FunctionRates> rates_between(const Snapshot& before, const Snapshot& after);

}  // namespace hat::hatctl
