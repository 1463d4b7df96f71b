// SPDX-License-Identifier: Apache-2.0
// hatctl/slow.cc: formats the answer of /slow (the slowest calls, and the parts of their time) as
// text, and selects the functions that the user wants to see.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "base/quantities.h"
#include "hatctl/pages.h"
#include "hatctl/report_gaps.h"

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

// Parts that no column shows: a time that the peer's daemon has not divided, and the time of a call
// that was sent and got no reply.
constexpr const char* kUndivided = "between the hosts and in the server";
constexpr const char* kNoReply = "waiting for a reply that did not come";

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
  double took = 0;                           // of all of them
  std::map<std::string_view, double> parts;  // of `took`, by the words for the part
};

void add_parts(const json& call, Group& group) {
  for (const Part& part : kParts) {
    const json& time = call.at(part.key);
    if (!time.is_null()) group.parts[part.words] += time.get<double>();
  }
  const json& answered = call.at("answered_us");
  if (answered.is_null()) {
    group.parts[kNoReply] += call.at("took_us").get<double>() - call.at("waited_us").get<double>();
  } else if (call.at("wire_us").is_null()) {
    group.parts[kUndivided] += answered.get<double>();
  }
}

// Returns the part with most of the time: "in the server 97 %".
std::string mostly_text(const Group& group) {
  const auto most =
      std::ranges::max_element(group.parts, {}, [](const auto& part) { return part.second; });
  const auto percent = std::lround(100 * most->second / std::max(group.took, 1.0));
  return std::string(most->first) + " " + std::to_string(percent) + " %";
}

std::string groups_text(const json& calls, const Terminal& terminal) {
  std::map<std::pair<std::string, std::string>, Group> groups;
  for (const json& call : calls) {
    Group& group = groups[{name_of(call), peer_of(call)}];
    ++group.calls;
    group.slowest = std::max(group.slowest, call.at("took_us").get<double>());
    group.took += call.at("took_us").get<double>();
    add_parts(call, group);
  }
  std::vector<std::pair<std::pair<std::string, std::string>, Group>> sorted(groups.begin(),
                                                                            groups.end());
  std::ranges::stable_sort(sorted, [](const auto& one, const auto& other) {
    return one.second.slowest > other.second.slowest;
  });
  Table table({{"FUNCTION"}, {"PEER"}, {"SLOW CALLS", true}, {"SLOWEST", true}, {"MOSTLY"}});
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
  for (const char* list : {"slow", "waiting"}) {
    if (!slow.contains(list)) continue;  // an older hatrpcd
    json kept = json::array();
    for (const json& call : slow.at(list)) {
      if (wanted.empty() || wanted == call.at("service").get<std::string>() ||
          wanted == name_of(call)) {
        kept.push_back(call);
      }
    }
    slow[list] = kept;
  }
  return slow;
}

std::string slow_text(const json& slow, const std::string& wanted, double unix_now,
                      const Terminal& terminal) {
  const std::string waiting = waiting_text(slow, terminal);
  std::string text = slow.contains("workers_silent") ? report_gaps(slow) : "";
  if (!waiting.empty()) text += waiting + "\n";
  const json& calls = slow.at("slow");
  if (calls.empty()) {
    return text + (wanted.empty()
                       ? "no call of a local client has ended in the last minutes\n"
                       : "no call of " + wanted + " is among the slowest of the last minutes\n");
  }
  if (!waiting.empty()) text += "calls that have ended:\n";
  return text + groups_text(calls, terminal) + "\n" + calls_text(calls, unix_now, terminal);
}

}  // namespace hat::hatctl
