// SPDX-License-Identifier: Apache-2.0
#include "kv/ycsb/report.h"

#include <cctype>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/rounded.h"
#include "bench/account_json.h"

namespace hat::ycsb {
namespace {

std::string number(double value) {
  char text[64];
  std::snprintf(text, sizeof text, "%.2f", value);
  return text;
}

double microseconds(double nanoseconds) { return nanoseconds / 1000; }

std::string line(std::string_view of, std::string_view what, const std::string& value) {
  return "[" + std::string(of) + "], " + std::string(what) + ", " + value + "\n";
}

double per_second(const Results& results) {
  return results.seconds > 0 ? double(results.account.ended) / results.seconds : 0;
}

// Returns the operation's name in lower case.
std::string key_of_operation(size_t operation) {
  std::string name = operation_name(static_cast<Operation>(operation));
  for (char& c : name) c = static_cast<char>(std::tolower(c));
  return name;
}

}  // namespace

std::string as_text(const Results& results) {
  std::string text = line("OVERALL", "RunTime(ms)", number(results.seconds * 1000)) +
                     line("OVERALL", "Throughput(ops/sec)", number(per_second(results))) +
                     line("CLIENT", "FewestOperations", std::to_string(results.account.fewest)) +
                     line("CLIENT", "MostOperations", std::to_string(results.account.most)) +
                     line("CLIENT", "CutOffOperations", std::to_string(results.account.cut_off));
  for (size_t i = 0; i < kOperations; ++i) {
    const auto& [latencies, failed] = results.operations[i];
    const std::string_view name = operation_name(static_cast<Operation>(i));
    if (latencies.count() > 0) {
      text +=
          line(name, "Operations", std::to_string(latencies.count())) +
          line(name, "AverageLatency(us)", number(microseconds(latencies.mean_ns()))) +
          line(name, "MinLatency(us)", number(microseconds(double(latencies.min_ns())))) +
          line(name, "MaxLatency(us)", number(microseconds(double(latencies.max_ns())))) +
          line(name, "50thPercentileLatency(us)", number(microseconds(latencies.quantile_ns(.5)))) +
          line(name, "95thPercentileLatency(us)",
               number(microseconds(latencies.quantile_ns(.95)))) +
          line(name, "99thPercentileLatency(us)",
               number(microseconds(latencies.quantile_ns(.99)))) +
          line(name, "Return=OK", std::to_string(latencies.count()));
    }
    if (failed > 0) text += line(name, "Return=ERROR", std::to_string(failed));
  }
  return text;
}

std::string as_json(const Results& results, uint32_t threads) {
  nlohmann::ordered_json all = {{"threads", threads},
                                {"seconds", rounded(results.seconds, 2)},
                                {"calls_per_s", rounded(per_second(results), 2)},
                                {"operations", results.done()},
                                {"failed", results.failed()}};
  all.update(bench::account_json(results.account));
  for (size_t i = 0; i < kOperations; ++i) {
    const auto& [latencies, failed] = results.operations[i];
    if (latencies.count() + failed == 0) continue;
    const auto us = [](double ns) { return rounded(microseconds(ns), 2); };
    all[key_of_operation(i)] = {
        {"operations", latencies.count()},          {"failed", failed},
        {"avg_us", us(latencies.mean_ns())},        {"min_us", us(double(latencies.min_ns()))},
        {"max_us", us(double(latencies.max_ns()))}, {"p50_us", us(latencies.quantile_ns(.5))},
        {"p95_us", us(latencies.quantile_ns(.95))}, {"p99_us", us(latencies.quantile_ns(.99))}};
  }
  return all.dump() + "\n";
}

}  // namespace hat::ycsb
