// SPDX-License-Identifier: Apache-2.0
// hatctl/slow.cc: formats the answer of /slow (the slowest calls, and the parts of their time) as
// text, and selects the functions that the user wants to see.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "base/quantities.h"
#include "hatctl/pages.h"

namespace hat::hatctl {
namespace {

using nlohmann::json;

constexpr size_t kCallsShown = 20;

// A part of a call's time.
struct Part {
  const char* key;  // in the answer of /slow
  const char* heading;
  const char* words;
};
constexpr std::array kParts = {
    Part{"waited_us", "WAITED", "waiting in this daemon"},
    Part{"wire_us", "WIRE", "between the hosts"},
    Part{"peer_us", "PEER", "waiting in the peer's daemon"},
    Part{"server_us", "SERVER", "in the server"},
    Part{"reply_us", "REPLY", "receiving the reply"},
};

std::string name_of(const json& call) {
  return call.at("service").get<std::string>() + "." + call.at("method").get<std::string>();
}

std::string peer_of(const json& call) {
  const std::string peer = call.at("peer");
  return peer.empty() ? "-" : peer;
}

std::string part_text(const json& time) { return time.is_null() ? "-" : time_text(time); }

std::string result_of(const json& call) {
  const std::string outcome = call.at("outcome");
  return call.at("reason").is_null() ? outcome : call.at("reason").get<std::string>();
}

// The listed calls of one function to one peer.
struct Group {
  size_t calls = 0;
  double slowest = 0;
  double took = 0;                         // of all of them
  std::array<double, kParts.size()> in{};  // of `took`, by part
};

// Returns the part with most of the time: "in the server 97 %".
std::string mostly_text(const Group& group) {
  const auto most = std::ranges::max_element(group.in);
  const double known = group.took == 0 ? 0 : *most / group.took;
  const auto percent = static_cast<int>(std::lround(100 * known));
  if (percent < 50) return "at several places, or not known";
  return std::string(kParts[static_cast<size_t>(most - group.in.begin())].words) + " " +
         std::to_string(percent) + " %";
}

std::string groups_text(const json& calls, const Terminal& terminal) {
  std::map<std::pair<std::string, std::string>, Group> groups;
  for (const json& call : calls) {
    Group& group = groups[{name_of(call), peer_of(call)}];
    ++group.calls;
    group.slowest = std::max(group.slowest, call.at("took_us").get<double>());
    group.took += call.at("took_us").get<double>();
    for (size_t i = 0; i < kParts.size(); ++i) {
      const json& part = call.at(kParts[i].key);
      if (!part.is_null()) group.in[i] += part.get<double>();
    }
  }
  std::vector<std::pair<std::pair<std::string, std::string>, Group>> sorted(groups.begin(),
                                                                            groups.end());
  std::ranges::stable_sort(sorted, [](const auto& one, const auto& other) {
    return one.second.slowest > other.second.slowest;
  });
  Table table({{"FUNCTION"}, {"PEER"}, {"CALLS", true}, {"SLOWEST", true}, {"MOSTLY"}});
  for (const auto& [names, group] : sorted) {
    table.add({names.first, names.second, std::to_string(group.calls), time_text(group.slowest),
               mostly_text(group)});
  }
  return table.text(terminal);
}

std::string calls_text(const json& calls, double unix_now, const Terminal& terminal) {
  std::vector<Table::Column> columns = {{"FUNCTION"}, {"PEER"}, {"AGE", true}, {"TOOK", true}};
  for (const Part& part : kParts) columns.push_back({part.heading, true});
  columns.push_back({"RESULT"});
  Table table(std::move(columns));
  const size_t shown = std::min(calls.size(), kCallsShown);
  for (size_t i = 0; i < shown; ++i) {
    const json& call = calls[i];
    std::vector<std::string> row = {
        name_of(call), peer_of(call),
        age_text(std::max(0.0, unix_now - call.at("unix_time").get<double>())),
        time_text(call.at("took_us"))};
    for (const Part& part : kParts) row.push_back(part_text(call.at(part.key)));
    row.push_back(result_of(call));
    table.add(std::move(row));
  }
  std::string text = table.text(terminal);
  if (shown < calls.size()) {
    text += "(" + std::to_string(calls.size() - shown) + " more; --json has all)\n";
  }
  return text;
}

}  // namespace

json slow_wanted(json slow, const std::string& wanted) {
  json kept = json::array();
  for (const json& call : slow.at("slow")) {
    if (wanted.empty() || wanted == call.at("service") || wanted == name_of(call)) {
      kept.push_back(call);
    }
  }
  slow["slow"] = kept;
  return slow;
}

std::string slow_text(const json& slow, double unix_now, const Terminal& terminal) {
  const json& calls = slow.at("slow");
  if (calls.empty()) return "no call of a local client has ended in the last minutes\n";
  return groups_text(calls, terminal) + "\n" + calls_text(calls, unix_now, terminal);
}

}  // namespace hat::hatctl
