// SPDX-License-Identifier: Apache-2.0
// daemon/metrics/function_metrics.h: the counters of every function that a manifest has named since
// the start; a reload does not reset them.
//
// Bounds   One entry for each function of the manifests, and for each service one entry (`_other`)
//          for all of its functions that no manifest names.
// Thread   Only the main thread uses the registry. The object that find() returns lives as long as
//          the registry, and each worker writes only its own counters in it.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "config/hints.h"
#include "daemon/metrics/counters.h"
#include "daemon/metrics/series_limit.h"

namespace hat {

class FunctionMetrics {
 public:
  FunctionMetrics(std::string service_name, std::string method_name, size_t workers)
      : service(std::move(service_name)), method(std::move(method_name)), counters_(workers * 2) {
    for (FunctionCounters& counters : counters_) counters.function = this;
  }

  FunctionMetrics(const FunctionMetrics&) = delete;  // the counters point to this object
  FunctionMetrics& operator=(const FunctionMetrics&) = delete;

  FunctionCounters& at(Side side, size_t worker) {
    return counters_[worker * 2 + static_cast<size_t>(side)];
  }
  size_t workers() const { return counters_.size() / 2; }

  const std::string service;
  const std::string method;

 private:
  std::vector<FunctionCounters> counters_;
};

class MetricsRegistry {
 public:
  explicit MetricsRegistry(size_t workers) : workers_(workers) {}

  FunctionMetrics& find(const std::string& service, const std::string& method) {
    auto& entry = by_name_[{service, method}];
    if (!entry) entry = &all_.emplace_back(service, method, workers_);
    return *entry;
  }
  std::deque<FunctionMetrics>& all() { return all_; }
  SeriesLimit& series() { return series_; }

 private:
  const size_t workers_;
  SeriesLimit series_;
  std::deque<FunctionMetrics> all_;  // a deque keeps the addresses of its elements valid
  std::map<std::pair<std::string, std::string>, FunctionMetrics*> by_name_;
};

}  // namespace hat
