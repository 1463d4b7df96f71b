// SPDX-License-Identifier: Apache-2.0
#include "bench/atb/report.h"

#include <cstdarg>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/quantities.h"
#include "base/rounded.h"
#include "bench/account_json.h"

namespace hat::atb {
namespace {

constexpr std::array kCommandNames = {"server", "latency", "throughput", "mix"};
constexpr std::array kFunctionNames = {"latency", "throughput"};

double calls_per_s(const Line& line) {
  return static_cast<double>(line.measured.ended) / line.seconds;
}

double megabytes_per_s(const Line& line) {
  const double bytes = static_cast<double>(line.sizes.request_bytes) + line.sizes.answer_bytes;
  return calls_per_s(line) * bytes / 1e6;
}

[[gnu::format(printf, 1, 2)]] std::string text(const char* format, ...) {
  char buffer[256];
  va_list values;
  va_start(values, format);
  std::vsnprintf(buffer, sizeof(buffer), format, values);
  va_end(values);
  return buffer;
}

// Returns a time as three digits and a unit, such as 49.2 µs, 1.75 ms or 12.0 s.
std::string time_text(double ns) {
  const char* unit = "µs";
  double value = ns / 1e3;
  if (value >= 999.5) {
    unit = value >= 999.5e3 ? "s" : "ms";
    value /= value >= 999.5e3 ? 1e6 : 1e3;
  }
  return text(value < 9.995 ? "%.2f %s" : value < 99.95 ? "%.1f %s" : "%.0f %s", value, unit);
}

}  // namespace

std::string to_json(const Report& report) {
  nlohmann::ordered_json lines = nlohmann::ordered_json::array();
  for (const Line& line : report.lines) {
    const TimeHistogram& times = line.measured.times;
    const auto us = [](double ns) { return rounded(ns / 1e3, 3); };
    lines.push_back({{"function", kFunctionNames[static_cast<size_t>(line.function)]},
                     {"request_bytes", line.sizes.request_bytes},
                     {"answer_bytes", line.sizes.answer_bytes},
                     {"calls", line.measured.ended},
                     {"seconds", line.seconds},
                     {"calls_per_s", rounded(calls_per_s(line), 1)},
                     {"megabytes_per_s", rounded(megabytes_per_s(line), 1)},
                     {"average_us", us(times.mean_ns())},
                     {"p50_us", us(times.quantile_ns(0.5))},
                     {"p99_us", us(times.quantile_ns(0.99))},
                     {"p999_us", us(times.quantile_ns(0.999))},
                     {"max_us", us(static_cast<double>(times.max_ns()))}});
  }
  nlohmann::ordered_json loads = nlohmann::ordered_json::array();
  for (const auto& [account, seconds] : report.loads) {
    loads.push_back({{"calls_per_s", rounded(static_cast<double>(account.ended) / seconds, 1)}});
    loads.back().update(bench::account_json(account));
  }
  const nlohmann::ordered_json whole = {
      {"benchmark", kCommandNames[static_cast<size_t>(report.options.command)]},
      {"address", to_string(report.options.address)},
      {"processes", report.options.processes},
      {"threads", report.options.threads},
      {"loads", std::move(loads)},
      {"results", std::move(lines)}};
  return whole.dump(2) + "\n";
}

std::string to_table(const Report& report) {
  std::string table =
      "FUNCTION    REQUEST  ANSWER    CALLS  CALLS/S    MB/S   AVERAGE       P50       P99     "
      "P99.9"
      "       MAX\n";
  for (const Line& line : report.lines) {
    const TimeHistogram& times = line.measured.times;
    table += text("%-10s %8s %7s %8llu %8.0f %7.1f", kFunctionNames[size_t(line.function)],
                  exact_size_text(line.sizes.request_bytes).c_str(),
                  exact_size_text(line.sizes.answer_bytes).c_str(),
                  static_cast<unsigned long long>(line.measured.ended), calls_per_s(line),
                  megabytes_per_s(line));
    for (const double ns : {times.mean_ns(), times.quantile_ns(0.5), times.quantile_ns(0.99),
                            times.quantile_ns(0.999), static_cast<double>(times.max_ns())}) {
      const std::string time = time_text(ns);
      const size_t columns = time.size() - (time.find("µ") == std::string::npos ? 0 : 1);
      table += std::string(columns < 10 ? 10 - columns : 1, ' ') + time;
    }
    table += "\n";
  }
  for (const auto& [account, seconds] : report.loads) {
    if (account.clients == 1) continue;
    table += text(
        "%u clients made %llu to %llu calls each; %llu calls had not ended when the time was "
        "over\n",
        account.clients, static_cast<unsigned long long>(account.fewest),
        static_cast<unsigned long long>(account.most),
        static_cast<unsigned long long>(account.cut_off));
  }
  return table;
}

}  // namespace hat::atb
