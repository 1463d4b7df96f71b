// SPDX-License-Identifier: Apache-2.0
// hatctl/peers.cc: formats the answer of /peers as text.
#include <algorithm>
#include <map>
#include <set>

#include "base/printable.h"
#include "base/quantities.h"
#include "hatctl/pages.h"
#include "hatctl/report_gaps.h"
#include "hatctl/shown_text.h"

namespace hat::hatctl {
namespace {

using nlohmann::json;

// Returns the state of the links of all workers to one peer: "up 2 h 5 min", "up 1/2", "down 12 s",
// "connecting", "idle". Workers whose clients need no link have none.
std::string peer_link_text(const json& workers) {
  uint64_t up = 0;
  uint64_t needed = 0;
  double longest_up = 0;
  double longest_down = 0;
  bool connects = true;  // each link that is needed and not up
  for (const json& worker : workers) {
    const std::string state = worker.at("state");
    if (state == "idle") continue;
    ++needed;
    double& longest = state == "up" ? longest_up : longest_down;
    longest = std::max(longest, worker.at("in_state_s").get<double>());
    up += state == "up";
    connects &= state != "down";
  }
  if (needed == 0) return "idle";
  if (up == needed) return "up " + age_text(longest_up);
  if (up == 0) return connects ? "connecting" : "down " + age_text(longest_down);
  return "up " + std::to_string(up) + "/" + std::to_string(needed);
}

// Returns the RDMA lanes of all workers to one peer: "2 direct_write_imm, 1 rfp (down)".
std::string peer_lanes_text(const json& workers) {
  std::map<std::string, uint64_t> kinds;
  for (const json& worker : workers) {
    for (const json& lane : worker.at("lanes")) {
      const std::string state = lane.at("state");
      ++kinds[shown_text(lane.at("protocol")) +
              (state == "up" ? "" : " (" + printable(state) + ")")];
    }
  }
  std::string text;
  for (const auto& [kind, count] : kinds) {
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + kind;
  }
  return text.empty() ? "-" : text;
}

std::string zone_text(const json& peer) {
  const std::string zone = shown_text(peer.at("zone"));
  if (zone.empty()) return "-";
  return peer.at("is_near") ? zone + " (near)" : zone;
}

// Returns the number of unanswered calls, and the age of the oldest one if it waits: "3 (12 s)".
std::string in_flight_text(const json& peer) {
  const json oldest = peer.value("oldest_unanswered_s", json());  // an older hatrpcd has none
  return peer.at("unanswered").dump() +
         (oldest.is_null() ? "" : " (" + wait_text(oldest.get<double>()) + ")");
}

std::string main_table(const json& peers, const Terminal& terminal) {
  Table table({{"PEER"},
               {"ADDRESS"},
               {"LINK"},
               {"VERSION", true},
               {"LANES"},
               {"CONNECTIONS", true},
               {"IN FLIGHT", true},
               {"CALLS", true},
               {"WEIGHT", true},
               {"ZONE"}});
  for (const json& peer : peers) {
    const json& version = peer.at("link_version");
    table.add({shown_text(peer.at("peer")), shown_text(peer.at("address")),
               peer_link_text(peer.at("workers")), version.is_null() ? "-" : version.dump(),
               peer_lanes_text(peer.at("workers")), peer.at("streams").dump(), in_flight_text(peer),
               count_text(static_cast<double>(peer.at("calls").get<uint64_t>())),
               peer.at("weight").dump(), zone_text(peer)});
  }
  return table.text(terminal);
}

// Returns the last error of each peer that a worker needs and cannot reach.
std::string errors_table(const json& peers, const Terminal& terminal) {
  Table table({{"LINK NOT UP"}, {"LAST ERROR"}});
  for (const json& peer : peers) {
    std::set<std::string> errors;
    for (const json& worker : peer.at("workers")) {
      const std::string error = shown_text(worker.at("last_error"));
      if (worker.at("state") != "up" && worker.at("state") != "idle" && !error.empty()) {
        errors.insert(error);
      }
    }
    for (const std::string& error : errors) table.add({shown_text(peer.at("peer")), error});
  }
  return table.empty() ? "" : "\n" + table.text(terminal);
}

bool is_slow(const json& avoided) { return avoided.at("state") == "slow"; }

std::string failures_table(const json& peers, const Terminal& terminal) {
  Table table({{"CALLS FAILED AT"}, {"ENDPOINT"}, {"WORKER", true}, {"NOW"}, {"LAST FAILURE"}});
  for (const json& peer : peers) {
    for (const json& avoided : peer.at("avoided")) {
      if (is_slow(avoided)) continue;
      const std::string why = shown_text(avoided.at("why"));
      table.add({shown_text(peer.at("peer")), shown_text(avoided.at("endpoint")),
                 avoided.at("worker").dump(), ejection_text(avoided), why.empty() ? "-" : why});
    }
  }
  return table.empty() ? "" : "\n" + table.text(terminal);
}

// Returns how long calls take at a slow peer: "10 times as long".
std::string slowness_text(const json& avoided) {
  constexpr double kMost = 16;  // hatrpcd's times end here
  const double times = avoided.at("times");
  return count_text(times) + (times < kMost ? "" : " or more") + " times as long";
}

std::string slow_table(const json& peers, const Terminal& terminal) {
  Table table({{"SLOW PEER"}, {"ENDPOINT"}, {"WORKER", true}, {"CALLS TAKE"}, {"NEXT TRIAL"}});
  for (const json& peer : peers) {
    for (const json& avoided : peer.at("avoided")) {
      if (!is_slow(avoided)) continue;
      const double left = avoided.at("left_s");
      table.add({shown_text(peer.at("peer")), shown_text(avoided.at("endpoint")),
                 avoided.at("worker").dump(), slowness_text(avoided),
                 left > 0 ? "in " + time_text(left * 1e6) + " or later" : "soon"});
    }
  }
  return table.empty() ? "" : "\n" + table.text(terminal);
}

std::string endpoints_table(const json& peers, const Terminal& terminal) {
  std::map<std::pair<std::string, std::string>, std::string> endpoints;
  for (const json& peer : peers) {
    for (const json& endpoint : peer.at("endpoints")) {
      std::string& names =
          endpoints[{shown_text(endpoint.at("listen")), shown_text(endpoint.at("service"))}];
      names += (names.empty() ? "" : ", ") + shown_text(peer.at("peer"));
    }
  }
  Table table({{"ENDPOINT"}, {"SERVICE"}, {"PEERS"}});
  for (const auto& [endpoint, names] : endpoints) {
    table.add({endpoint.first, endpoint.second, names});
  }
  return table.empty() ? "" : "\n" + table.text(terminal);
}

}  // namespace

std::string ejection_text(const json& ejection) {
  const std::string state = ejection.at("state");
  if (state == "ejected")
    return "ejected for " + time_text(ejection.at("left_s").get<double>() * 1e6);
  if (state == "due") return "ejected until the next call, a trial";
  if (state == "tried") return "on trial";
  return "used; " + plural(ejection.at("failures"), "failure") + " in a row";
}

std::string peers_text(const json& answer, const Terminal& terminal) {
  const json& peers = answer.at("peers");
  const std::string gaps = report_gaps(answer);
  if (peers.empty()) return gaps.empty() ? "the configuration has no peers\n" : gaps;
  const std::string security = answer.at("link_security");
  return gaps + "links " +
         (security == "tls" ? std::string("use TLS 1.3, both sides with a certificate")
                            : coloured("insecure", Colour::kRed, terminal) +
                                  ": neither authenticated nor encrypted") +
         "\n\n" + main_table(peers, terminal) + errors_table(peers, terminal) +
         failures_table(peers, terminal) + slow_table(peers, terminal) +
         endpoints_table(peers, terminal);
}

}  // namespace hat::hatctl
