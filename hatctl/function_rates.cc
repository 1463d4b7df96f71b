// SPDX-License-Identifier: Apache-2.0
#include "hatctl/function_rates.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace hat::hatctl {
namespace {

auto name_of(const auto& function) {
  return std::tie(function.service, function.method, function.side);
}

uint64_t grown(uint64_t before, uint64_t after) { return after - before; }

FunctionRates rates(const FunctionCounts& before, const FunctionCounts& after, double seconds) {
  FunctionRates rates{after.service, after.method, after.side};
  const auto per_second = [&](uint64_t FunctionCounts::*count) {
    return static_cast<double>(grown(before.*count, after.*count)) / seconds;
  };
  rates.ever_called = after.started > 0;
  rates.in_flight = after.in_flight;
  rates.calls = per_second(&FunctionCounts::ended);
  rates.errors = per_second(&FunctionCounts::errors);
  rates.bytes_in = per_second(&FunctionCounts::bytes_in);
  rates.bytes_out = per_second(&FunctionCounts::bytes_out);
  std::vector<uint64_t> buckets = after.buckets;
  for (size_t i = 0; i < std::min(buckets.size(), before.buckets.size()); ++i) {
    buckets[i] = grown(before.buckets[i], buckets[i]);
  }
  rates.p50 = estimate(buckets, 0.50);
  rates.p99 = estimate(buckets, 0.99);
  return rates;
}

bool begun_anew(const FunctionCounts& before, const FunctionCounts& after) {
  return after.started < before.started || after.ended < before.ended;
}

}  // namespace

Snapshot read_snapshot(const std::string& functions_body,
                       std::chrono::steady_clock::time_point taken) {
  Snapshot snapshot{taken, {}};
  for (const auto& entry : nlohmann::json::parse(functions_body)) {
    FunctionCounts function{entry.at("service"), entry.at("method"), entry.at("side"),
                            entry.at("started"), entry.at("in_flight")};
    for (const auto& [outcome, count] : entry.at("outcomes").items()) {
      function.ended += count.get<uint64_t>();
      const bool error =
          outcome == "app_exception" || outcome == "local_error" || outcome == "unknown";
      if (error) function.errors += count.get<uint64_t>();
    }
    function.bytes_in = entry.at("request_bytes");
    function.bytes_out = entry.at("response_bytes");
    function.buckets = entry.at("latency").at("buckets").get<std::vector<uint64_t>>();
    snapshot.functions.push_back(std::move(function));
  }
  return snapshot;
}

std::vector<FunctionRates> rates_between(const Snapshot& before, const Snapshot& after) {
  using Key = std::tuple<std::string, std::string, std::string>;
  std::map<Key, const FunctionCounts*> known;
  for (const FunctionCounts& function : before.functions) known[name_of(function)] = &function;
  const double seconds = std::chrono::duration<double>(after.taken - before.taken).count();
  std::vector<FunctionRates> all;
  for (const FunctionCounts& function : after.functions) {
    const auto was = known.find(name_of(function));
    const bool compare = was != known.end() && !begun_anew(*was->second, function);
    all.push_back(rates(compare ? *was->second : FunctionCounts{}, function, seconds));
  }
  std::ranges::sort(all, [](const FunctionRates& a, const FunctionRates& b) {
    return a.calls != b.calls ? a.calls > b.calls : name_of(a) < name_of(b);
  });
  return all;
}

}  // namespace hat::hatctl
