// SPDX-License-Identifier: Apache-2.0
// hatctl/top.cc: formats the rates of functions, which `hatctl top` shows after each interval, as a
// table or as JSON.
#include <set>
#include <string_view>
#include <utility>

#include "base/quantities.h"
#include "hatctl/pages.h"

namespace hat::hatctl {
namespace {

using nlohmann::json;

// The number of rows of the terminal that cannot show a function: the heading of the table, the
// line of totals after the table, and the line of the cursor.
constexpr size_t kRowsAround = 3;

std::string quantile_text(const std::optional<Quantile>& quantile) {
  if (!quantile) return "-";
  return (quantile->at_least ? ">" : "") + time_text(quantile->microseconds);
}

json quantile_json(const std::optional<Quantile>& quantile) {
  return quantile ? json(quantile->microseconds) : json(nullptr);
}

// Returns the number of functions that were never called, neither as a client nor as a server.
// `functions` has one entry for each function and side.
size_t never_called(const std::vector<FunctionRates>& functions) {
  std::set<std::pair<std::string_view, std::string_view>> all;
  std::set<std::pair<std::string_view, std::string_view>> called;
  for (const FunctionRates& function : functions) {
    all.emplace(function.service, function.method);
    if (function.ever_called) called.emplace(function.service, function.method);
  }
  return all.size() - called.size();
}

}  // namespace

std::string top_text(const std::vector<FunctionRates>& functions, const Terminal& terminal) {
  Table table({{"FUNCTION"},
               {"SIDE"},
               {"CALLS/S", true},
               {"P50", true},
               {"P99", true},
               {"ERRORS/S", true},
               {"IN/S", true},
               {"OUT/S", true},
               {"NOW", true}});
  const size_t rows_max =
      terminal.rows > kRowsAround ? terminal.rows - kRowsAround : functions.size();
  size_t shown = 0;
  size_t hidden = 0;
  for (const FunctionRates& function : functions) {
    if (!function.ever_called) continue;
    if (shown == rows_max) {
      ++hidden;
    } else {
      ++shown;
      table.add({function.service + "." + function.method, function.side,
                 count_text(function.calls), quantile_text(function.p50),
                 quantile_text(function.p99), count_text(function.errors),
                 size_text(static_cast<uint64_t>(function.bytes_in)),
                 size_text(static_cast<uint64_t>(function.bytes_out)),
                 std::to_string(function.in_flight)});
    }
  }
  std::string last = std::to_string(never_called(functions)) + " never called";
  if (hidden > 0) last = std::to_string(hidden) + " more, " + last;
  return table.text(terminal) + "(" + last + ")\n";
}

json top_json(const std::vector<FunctionRates>& functions, double seconds) {
  json all = json::array();
  for (const FunctionRates& function : functions) {
    all.push_back({{"service", function.service},
                   {"method", function.method},
                   {"side", function.side},
                   {"calls_per_s", function.calls},
                   {"errors_per_s", function.errors},
                   {"request_bytes_per_s", function.bytes_in},
                   {"response_bytes_per_s", function.bytes_out},
                   {"in_flight", function.in_flight},
                   {"p50_us", quantile_json(function.p50)},
                   {"p99_us", quantile_json(function.p99)}});
  }
  return {{"interval_s", seconds}, {"functions", all}};
}

}  // namespace hat::hatctl
