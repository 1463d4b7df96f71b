// SPDX-License-Identifier: Apache-2.0
// hatctl/explain.cc: formats the answers of /routes and /explain for one function as a page.
#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "base/nearest_word.h"
#include "base/printable.h"
#include "base/quantities.h"
#include "hatctl/pages.h"
#include "hatctl/report_gaps.h"
#include "hatctl/shown_text.h"

namespace hat::hatctl {
namespace {

using nlohmann::json;

// Returns a paragraph: a label, and a text that is wrapped beside it.
std::string paragraph(const std::string& label, const std::string& text, const Terminal& terminal) {
  constexpr size_t kIndent = 11;
  return label + std::string(kIndent - label.size(), ' ') +
         wrapped(text, kIndent, terminal.columns) + "\n";
}

std::string hints_text(const json& hints, const Terminal& terminal) {
  if (hints.empty()) {
    return paragraph("hints", "none: the plan follows from this host and the defaults", terminal);
  }
  Table table({{"HINT"}, {"VALUE"}, {"OF"}, {"GROUP"}});
  for (const json& hint : hints) {
    table.add({shown_text(hint.at("key")), shown_text(hint.at("value")), shown_text(hint.at("of")),
               shown_text(hint.at("group"))});
  }
  return "\n" + table.text(terminal) + "\n";
}

std::string deadline_text(const json& deadline, const json& function) {
  if (function.at("oneway")) return "none, because the function is oneway.";
  // The deadline of a client does not hold for calls that may be oneway.
  const bool can_be_clients = function.at("method") != "_other";
  if (deadline.at("ms").is_null()) {
    return can_be_clients ? "none, unless the client sends one (THeader, client_timeout)."
                          : "none.";
  }
  const std::string own =
      deadline.at("ms").dump() + " ms, from " +
      (deadline.at("from") == "timeout_ms" ? "the hint timeout_ms." : "limits.call_timeout.");
  if (!can_be_clients) return own;
  return own + " A shorter one that the client sends (THeader, client_timeout) comes first.";
}

// Returns which calls are sent again after other failures than the loss of their request with an
// RDMA lane.
std::string other_retries_text(const json& page, bool is_oneway) {
  if (is_oneway) return "After other failures none is, because the function is oneway.";
  if (page.at("retry_percent") == 0) {
    return "After other failures none is: limits.retry_percent is 0.";
  }
  const bool is_idempotent = page.at("idempotent");
  if (!is_idempotent && !page.at("several_peers").get<bool>()) {
    return "After other failures none is: the function is not idempotent, and no endpoint of this "
           "node has several peers.";
  }
  return std::string(
             is_idempotent
                 ? "After other failures: a call that is lost with its link, its lane or the "
                   "server's connection can be sent again, even if the server may have seen it, "
                   "because the function is idempotent."
                 : "After other failures: a call can be sent again only if the server has "
                   "certainly not seen it, because the function is not idempotent, and only by an "
                   "endpoint with several peers.") +
         " But not if its client connection has its own connection to the server, as with mode "
         "mirror from the first call that reaches the server.";
}

std::string retries_text(const json& page, bool is_oneway) {
  const json& most = page.at("retry_request_bytes");
  if (most == 0) return "none: limits.retry_request is 0.";
  return "A request of at most " + exact_size_text(most) +
         " (limits.retry_request) can be sent again. If it was lost with an RDMA lane, it is sent "
         "over TCP to the same server connection, exactly once. " +
         other_retries_text(page, is_oneway);
}

std::string carrier_text(const json& carrier) {
  if (carrier.is_null()) return "tcp";
  const std::string protocols = shown_text(carrier.at("protocols"));
  if (!protocols.empty()) return protocols;
  if (carrier.at("opens")) return "tcp; the call opens the lane";
  const std::string error = shown_text(carrier.at("last_error"));
  return "tcp (" + shown_text(carrier.at("why")) + (error.empty() ? ")" : ": " + error + ")");
}

std::string requests_text(const json& way) {
  if (way.at("state") != "up") return "-";
  if (way.at("learned")) return "the learned choice";
  const std::string small = carrier_text(way.at("small"));
  const std::string large = carrier_text(way.at("large"));
  return small == large ? small : small + "; large: " + large;
}

// Returns for how long calls avoid the peer, and why; empty if they do not.
std::string avoided_text(const json& way) {
  const json& ejection = way.at("ejection");
  if (!way.at("avoided").get<bool>() || ejection.is_null()) return "";
  const std::string why = shown_text(ejection.at("why"));
  return ejection_text(ejection) + (why.empty() ? "" : " (" + why + ")");
}

// Returns whether a new connection of a client can get a peer whose link is not up.
std::string choice_without_link(const json& way) {
  std::string text = "when a call needs it: the link is idle";
  if (way.at("state") == "connecting") {
    text = "perhaps: connections wait for its first attempt";
  } else if (way.at("state") != "idle") {
    const std::string error = shown_text(way.at("last_error"));
    text = "no: the link is " + shown_text(way.at("state")) + (error.empty() ? "" : ": " + error);
  }
  const std::string avoided = avoided_text(way);
  return avoided.empty() ? text : text + "; " + avoided;
}

// Returns whether a new connection of a client can get the peer, or why not. `chosen` is a peer of
// the same endpoint and worker that it can get; null if there is none.
std::string choice_text(const json& way, const json* chosen) {
  if (way.at("state") != "up") return choice_without_link(way);
  constexpr const char* kSlow = "its calls take much longer than those of other peers";
  const std::string avoided = avoided_text(way);
  if (way.at("overflow")) {
    return std::string("only if the others have no room, or as a trial: ") + kSlow +
           (avoided.empty() ? "" : "; " + avoided);
  }
  if (way.at("candidate")) {
    if (!avoided.empty()) return "yes, as no better one is left: " + avoided;
    return way.at("slow") ? std::string("yes, as no better one is left: ") + kSlow : "yes";
  }
  // Peers differ first in whether calls avoid them, then in their zones.
  if (!avoided.empty() && (chosen == nullptr || avoided_text(*chosen).empty())) {
    return "no: " + avoided;
  }
  return "no: peers in the zone of this node come first" + (avoided.empty() ? "" : "; " + avoided);
}

// By worker and endpoint, a peer that new connections can get even if others have room.
using ChosenPeers = std::map<std::pair<uint64_t, std::string>, const json*>;

std::pair<uint64_t, std::string> choice_of(const json& way) {
  return {way.at("worker"), way.at("endpoint")};
}

ChosenPeers chosen_peers(const json& ways) {
  ChosenPeers chosen;
  for (const json& way : ways) {
    if (way.at("candidate") && !way.at("overflow")) chosen.emplace(choice_of(way), &way);
  }
  return chosen;
}

// Returns a table of the peers of each endpoint. The workers share a row if they do the same.
std::string ways_text(const json& ways, const Terminal& terminal) {
  struct Row {
    uint64_t workers = 0;
    uint64_t unanswered = 0;
    std::string weight;
  };
  std::map<std::array<std::string, 4>, Row> rows;
  const ChosenPeers chosen = chosen_peers(ways);
  for (const json& way : ways) {
    const auto best = chosen.find(choice_of(way));
    Row& row = rows[{shown_text(way.at("endpoint")), shown_text(way.at("peer")), requests_text(way),
                     choice_text(way, best == chosen.end() ? nullptr : best->second)}];
    ++row.workers;
    row.unanswered += way.at("unanswered").get<uint64_t>();
    row.weight = way.at("weight").dump();
  }
  Table table({{"ENDPOINT"},
               {"PEER"},
               {"WORKERS", true},
               {"A CALL NOW USES"},
               {"IN FLIGHT", true},
               {"WEIGHT", true},
               {"NEW CONNECTIONS"}});
  for (const auto& [key, row] : rows) {
    const auto& [endpoint, peer, requests, choice] = key;
    table.add({endpoint, peer, std::to_string(row.workers), requests,
               std::to_string(row.unanswered), row.weight, choice});
  }
  return table.text(terminal);
}

// Returns how connections choose among the peers of `ways`.
std::string choice_rules(const json& ways) {
  const bool has_overflow =
      std::ranges::any_of(ways, [](const json& way) { return way.at("overflow").get<bool>(); });
  return std::string(
             "New connections, and calls of connections for which no server keeps state, choose "
             "among the peers with \"yes\", by weight and by the calls in flight. ") +
         (has_overflow
              ? "They choose a peer with \"only if\" when each of the others has many more "
                "calls in flight, and single ones try it from time to time. "
              : "") +
         "A connection stays with its peer while the server keeps state for it, and while an "
         "earlier call is not answered.";
}

std::string peers_of(const json& page, const Terminal& terminal) {
  const json& ways = page.at("ways");
  const std::string gaps = report_gaps(page);
  if (ways.empty() && !gaps.empty()) return "\n" + gaps;
  if (ways.empty()) {
    return paragraph("peers",
                     page.at("endpoints").empty()
                         ? "no endpoint has this service as its `service`; multiplexed calls use "
                           "the peers of the endpoint on which they come"
                         : "the service's endpoint has no peers at present",
                     terminal);
  }
  return "\n" + gaps + ways_text(ways, terminal) + "\n" +
         paragraph("choice", choice_rules(ways), terminal);
}

std::string recent_text(const json& recent, const char* side) {
  const json& calls = recent.at(side);
  const auto count = calls.at("calls").get<uint64_t>();
  const double window = recent.at("window_s");
  if (count == 0 || window <= 0) return "";
  const auto late = calls.at("timed_out").get<uint64_t>();
  return (side == std::string("client") ? "by local clients: " : "at the local server: ") +
         count_text(static_cast<double>(count)) + " in " + age_text(window) + ", " +
         count_text(static_cast<double>(count) / window) + "/s" +
         (late == 0 ? "" : ", of which " + std::to_string(late) + " passed their deadline") + ". ";
}

std::string recent_text(const json& page) {
  const json& recent = page.at("recent");
  std::string text = recent_text(recent, "client") + recent_text(recent, "server");
  if (text.empty())
    text = "no call has ended in the last " + age_text(recent.at("window_s")) + ". ";
  const json& slow = page.at("slow");
  if (slow.at("of_function") != 0) {
    text += slow.at("of_function").dump() + " of the " + slow.at("kept").dump() +
            " slowest calls of the last minutes are of this function; the slowest took " +
            time_text(slow.at("slowest_us")) + " (hatctl slow).";
  }
  return text;
}

// A function of a service.
struct Name {
  std::string service;
  std::string function;
  std::string text() const { return service + "." + function; }
};

std::vector<Name> names_in(const json& routes) {
  std::vector<Name> all;
  for (const json& service : routes.at("services")) {
    for (const json& function : service.at("functions")) {
      all.push_back({service.at("service"), function.at("method")});
    }
  }
  return all;
}

// Returns `wanted` if it is one of `services` or "service.function". Returns "service.function" if
// it is the name of a function of one service only.
Result<std::string> name_called(const json& routes, const std::string& wanted,
                                const std::vector<std::string>& services) {
  if (std::ranges::find(services, wanted) != services.end()) return wanted;
  const std::vector<Name> all = names_in(routes);
  std::vector<std::string> texts = services;
  std::vector<std::string> same;  // functions of different services with this name
  for (const Name& name : all) {
    texts.push_back(name.text());
    if (name.text() == wanted) return wanted;
    if (name.function == wanted) same.push_back(name.text());
  }
  if (same.size() == 1) return same.front();
  if (!same.empty()) {
    std::string list;
    for (const std::string& one : same) list += (list.empty() ? "" : ", ") + one;
    return fail(ErrorCode::kInvalid, "several services have a function '" + printable(wanted) +
                                         "'; write one of: " + printable(list));
  }
  std::vector<std::string_view> known(texts.begin(), texts.end());
  for (const Name& name : all) known.emplace_back(name.function);
  return fail(ErrorCode::kNotFound, std::string("no ") + (services.empty() ? "" : "service or ") +
                                        "function is called '" + printable(wanted) + "'" +
                                        printable(did_you_mean(wanted, known)) +
                                        "; `hatctl routes` lists them, as Service.function");
}

}  // namespace

Result<std::string> function_called(const json& routes, const std::string& wanted) {
  return name_called(routes, wanted, {});
}

Result<std::string> functions_called(const json& routes, const std::string& wanted) {
  if (wanted.empty()) return wanted;
  std::vector<std::string> services;
  for (const json& service : routes.at("services")) services.push_back(service.at("service"));
  return name_called(routes, wanted, services);
}

std::string explain_text(const json& routes, const json& page, const Terminal& terminal) {
  const json& function = routes.at("services").at(0).at("functions").at(0);
  std::string text = routes_text(routes, terminal);
  text += hints_text(page.at("hints"), terminal);
  text += paragraph("deadline", deadline_text(page.at("deadline"), function), terminal);
  text += paragraph("retries", retries_text(page, function.at("oneway")), terminal);
  text += paragraph("priority", shown_text(page.at("priority")), terminal);
  if (const json& serves = page.at("serves"); !serves.is_null()) {
    text += paragraph("served",
                      "by " + shown_text(serves.at("upstream")) + " on this host, mode " +
                          shown_text(serves.at("mode")),
                      terminal);
  }
  text += paragraph("recently", recent_text(page), terminal);
  return text + peers_of(page, terminal);
}

}  // namespace hat::hatctl
