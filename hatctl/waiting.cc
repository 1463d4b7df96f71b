// SPDX-License-Identifier: Apache-2.0
// hatctl/waiting.cc: formats the calls in the answer of /slow that have no reply yet.
#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/quantities.h"
#include "hatctl/pages.h"
#include "hatctl/shown_text.h"

namespace hat::hatctl {
namespace {

using nlohmann::json;

constexpr size_t kRowsShown = 20;

std::string cause_text(const json& waiting) {
  static const std::map<std::string_view, const char*> kCauses = {
      {"to_be_sent", "a link, a lane or space"},
      {"rest_of_request", "the rest of the request"},
      {"reply", "the reply"},
      {"rest_of_reply", "the rest of the reply"},
  };
  const std::string cause = shown_text(waiting.at("waits_for"));
  const auto known = kCauses.find(cause);
  const std::string text = known == kCauses.end() ? cause : known->second;
  return waiting.at("may_be_oneway") ? text + ", if it is not oneway" : text;
}

// The calls of one function to one peer, in all workers.
struct Row {
  uint64_t calls = 0;
  double oldest = 0;
};

}  // namespace

std::string wait_text(double seconds) {
  return seconds < 60 ? time_text(seconds * 1e6) : age_text(seconds);
}

std::string waiting_text(const json& slow, const Terminal& terminal) {
  if (!slow.contains("waiting")) return "";  // an older hatrpcd
  const uint64_t left_out = slow.value("waiting_left_out", uint64_t{0});
  if (slow.at("waiting").empty() && left_out == 0) return "";
  using Names = std::tuple<std::string, std::string, std::string>;
  std::map<Names, Row> rows;
  for (const json& waiting : slow.at("waiting")) {
    const std::string peer = shown_text(waiting.at("peer"));
    Row& row = rows[{shown_text(waiting.at("service")) + "." + shown_text(waiting.at("method")),
                     peer.empty() ? "-" : peer, cause_text(waiting)}];
    row.calls += waiting.at("calls").get<uint64_t>();
    row.oldest = std::max(row.oldest, waiting.at("oldest_us").get<double>());
  }
  std::vector<std::pair<Names, Row>> sorted(rows.begin(), rows.end());
  std::ranges::stable_sort(sorted, std::ranges::greater(),
                           [](const auto& one) { return one.second.oldest; });
  Table table({{"FUNCTION"}, {"PEER"}, {"CONNECTIONS", true}, {"OLDEST", true}, {"WAITS FOR"}});
  const size_t shown = std::min(sorted.size(), kRowsShown);
  for (size_t i = 0; i < shown; ++i) {
    const auto& [names, row] = sorted[i];
    const auto& [function, peer, cause] = names;
    table.add({function, peer, std::to_string(row.calls), wait_text(row.oldest / 1e6), cause});
  }
  std::string text = "calls without a reply yet:\n" + table.text(terminal);
  if (shown < sorted.size()) {
    text += "(" + std::to_string(sorted.size() - shown) + " more; --json has them)\n";
  }
  if (left_out != 0) {
    text += "(hatrpcd left out " + plural(left_out, "row") + " with younger calls)\n";
  }
  return text;
}

}  // namespace hat::hatctl
