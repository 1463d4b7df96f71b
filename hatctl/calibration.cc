// SPDX-License-Identifier: Apache-2.0
// hatctl/calibration.cc: formats the answer of /calibration as a table of the measured costs of
// RDMA operations.
#include <map>

#include "base/quantities.h"
#include "hatctl/pages.h"

namespace hat::hatctl {
namespace {

using nlohmann::json;

struct SizedComponent {
  const char* key;
  const char* heading;
};
constexpr std::array kSized = {
    SizedComponent{"put", "PUT"},
    SizedComponent{"get", "GET"},
    SizedComponent{"message", "MESSAGE"},
    SizedComponent{"copy", "COPY"},
    SizedComponent{"registration", "REGISTRATION"},
    SizedComponent{"pushed_calls", "CALL, PUSHED"},
    SizedComponent{"fetched_calls", "CALL, FETCHED"},
};

struct SingleComponent {
  const char* key;
  const char* words;
};
constexpr std::array kSingle = {
    SingleComponent{"compare_swap_ns", "compare-and-swap"},
    SingleComponent{"fetch_add_ns", "fetch-and-add"},
    SingleComponent{"wake_up_ns", "wake-up"},
};

}  // namespace

std::string calibration_text(const json& calibration, const Terminal& terminal) {
  const json& costs = calibration.at("costs");
  std::string text = "with " + calibration.at("peer").get<std::string>() + ", " +
                     calibration.at("measured").get<std::string>() + ", " +
                     calibration.at("device").get<std::string>() + "\n\n";
  std::vector<Table::Column> columns = {{"SIZE", true}};
  std::map<uint64_t, std::array<std::string, kSized.size()>> rows;
  for (size_t i = 0; i < kSized.size(); ++i) {
    columns.push_back({kSized[i].heading, true});
    for (const json& cost : costs.value(kSized[i].key, json::array())) {
      rows[cost.at("bytes")][i] = nanoseconds_text(cost.at("ns"));
    }
  }
  Table table(columns);
  for (const auto& [bytes, cells] : rows) {
    std::vector<std::string> row = {size_text(bytes)};
    row.insert(row.end(), cells.begin(), cells.end());
    table.add(std::move(row));
  }
  text += table.text(terminal) + "\n";
  for (const SingleComponent& one : kSingle) {
    text += std::string(one.words) + " " + nanoseconds_text(costs.at(one.key)) + "\n";
  }
  if (costs.contains("no_calls")) {
    text += "calls were not measured: " + costs.at("no_calls").get<std::string>() + "\n";
  }
  return text;
}

}  // namespace hat::hatctl
