// SPDX-License-Identifier: Apache-2.0
// hatctl/routes.cc: formats the answer of /routes (the plan of each function) as text, and selects
// the functions that the user wants to see.
#include <algorithm>
#include <ranges>

#include "base/quantities.h"
#include "hatctl/pages.h"

namespace hat::hatctl {
namespace {

using nlohmann::json;

constexpr size_t kIndent = 11;

// Returns `line`, wrapped and indented like a plan's reason.
std::string indented(const std::string& line, const Terminal& terminal) {
  return std::string(kIndent, ' ') + wrapped(line, kIndent, terminal.columns) + "\n";
}

std::string label_text(const std::string& label) {
  const size_t width = std::max(label.size() + 1, kIndent - 2);
  return "  " + label + std::string(width - label.size(), ' ');
}

std::string plan_text(const std::string& side, const json& plan, const Terminal& terminal) {
  std::string text = label_text(side) + plan.at("plan").get<std::string>();
  if (const json& timeout_ms = plan.at("timeout_ms"); !timeout_ms.is_null()) {
    text += ", timeout " + timeout_ms.dump() + " ms";
  }
  if (plan.at("idempotent")) text += ", idempotent";
  text += "\n" + indented(plan.at("reason"), terminal);
  // A hatrpcd of an older version does not send the next two keys.
  for (const json& idle : plan.value("change_nothing", json::array())) {
    text += indented("The hint " + idle.at("hint").get<std::string>() +
                         " changes nothing in how hatrpcd carries the calls: " +
                         idle.at("why").get<std::string>() + ".",
                     terminal);
  }
  const json numa = plan.value("numa", json(nullptr));
  if (numa.is_null()) return text;
  const std::string hint = "numa: " + numa.at("hint").get<std::string>();
  const std::string shown =
      numa.at("node").is_null()
          ? hint + " is not honoured: " + numa.at("not_honoured").get<std::string>()
          : hint + ", carried by workers on node " + numa.at("node").dump();
  return text + indented(shown, terminal);
}

// Returns the host's cores as text, for example "28 cores, 14 of them near the NIC".
std::string cores_text(const json& host) {
  const auto cores = host.at("cores").get<uint32_t>();
  const auto near = host.at("nic_cores").get<uint32_t>();
  return std::to_string(cores) + (cores == 1 ? " core" : " cores") +
         (near == cores ? "" : ", " + std::to_string(near) + " of them near the NIC");
}

// Returns the peers from which this node requests replies by another protocol than it would from a
// server on a host like this one.
std::string replies_text(const json& function) {
  std::string text;
  for (const json& peer : function.value("replies", json::array())) {
    if (peer.at("protocol") == function.at("reply_protocol")) continue;
    text += label_text("replies") + peer.at("protocol").get<std::string>() + ", requested from " +
            peer.at("peer").get<std::string>() + " (" + cores_text(peer) + ")\n";
  }
  return text;
}

// Returns what each worker has learned about the calls to each peer: the current choice, and its
// cost beside that of the cheapest others.
std::string learned_text(const json& function, const Terminal& terminal) {
  constexpr size_t kCostsShown = 4;
  std::string text;
  for (const json& learned : function.value("learned", json::array())) {
    text += label_text("learned") + learned.at("choice").get<std::string>() + ", to " +
            learned.at("peer").get<std::string>() + " (worker " + learned.at("worker").dump() +
            "): " + (learned.at("kept") ? "kept from before the restart, " : "") +
            (learned.at("searching") ? "searching, " : "") + plural(learned.at("trials"), "trial") +
            ", " + plural(learned.at("changes"), "change") + "\n";
    std::string costs;
    for (const json& cost : learned.at("costs") | std::views::take(kCostsShown)) {
      costs += (costs.empty() ? "" : "; ") + cost.at("choice").get<std::string>() + " " +
               nanoseconds_text(cost.at("ns"));
    }
    if (costs.empty()) continue;
    const auto noise = static_cast<int>(learned.at("noise").get<double>() * 100 + 0.5);
    text += indented("measured (" + learned.at("measures").get<std::string>() + ", ± " +
                         std::to_string(noise) + " %): " + costs,
                     terminal);
  }
  return text;
}

// Returns as text what has carried a part of the function's calls: one protocol, or the protocols
// of requests and of replies if they differ.
std::string way_text(const json& carried) {
  const std::string request = carried.at("request_protocol");
  const std::string reply = carried.at("reply_protocol");
  const std::string text = (request == "tcp" ? " over " : " by ") + request;
  if (reply == request) return text;
  return text + (reply == "none" ? " without a reply" : " / " + reply);
}

// Returns as text how many calls of the function each pair of protocols has carried, and why calls
// used TCP: "12034 by direct_write_imm / rfp, 1 over tcp (opening 1)". An older hatrpcd does not
// say what carried the calls; the text then has only the reasons: "some over tcp (opening 1)".
std::string carried_text(const json& function) {
  std::string text;
  const json ways = function.value("carried", json::array());  // absent: an older hatrpcd
  for (const json& carried : ways) {
    text += (text.empty() ? "" : ", ") + carried.at("calls").dump() + way_text(carried);
  }
  std::string missed;
  for (const auto& [reason, calls] : function.at("fallbacks").items()) {
    missed += (missed.empty() ? "" : ", ") + reason + " " + calls.dump();
  }
  if (missed.empty()) return text;
  return (text.empty() ? "some over tcp" : text) + " (" + missed + ")";
}

std::string route_text(const std::string& service, const json& function, const Terminal& terminal) {
  const std::string name = service + "." + function.at("method").get<std::string>();
  std::string text = coloured(name, Colour::kBold, terminal);
  if (function.at("oneway")) text += "  oneway";
  text += "\n";
  const json& client = function.at("client");
  const json& server = function.at("server");
  if (client == server) {
    text += plan_text("both", client, terminal);
  } else {
    text += plan_text("client", client, terminal) + plan_text("server", server, terminal);
  }
  const json to_peers = function.value("client_to", json::object());  // absent: an older hatrpcd
  for (const auto& [peer, plan] : to_peers.items()) {
    // A plan for the same requests differs in the replies, which replies_text() has.
    if (plan.at("plan") != client.at("plan")) text += plan_text("to " + peer, plan, terminal);
  }
  text += replies_text(function) + learned_text(function, terminal);
  if (const std::string carried = carried_text(function); !carried.empty()) {
    text += "  carried  " + carried + "\n";
  }
  if (const json& allow = function.at("allow"); !allow.is_null()) {
    std::string who;
    for (const std::string rule : allow) who += (who.empty() ? "" : ", ") + rule;
    const bool dry_run = function.at("allow_mode") == "dry_run";
    text += "  allow    " + who +
            (dry_run ? " (dry run: calls of other peers are counted, and served)" : "") + "\n";
  }
  if (const std::string origin = function.at("origin"); !origin.empty()) {
    text += "  from     " + origin + "\n";
  }
  return text;
}

// Returns a text that says which fabric (access to RDMA) carries the protocols of the plans. The
// user needs this text because a plan names an RDMA protocol even if the host has no RDMA device.
std::string fabric_text(const json& routes, const Terminal& terminal) {
  const std::string label = "fabric" + std::string(kIndent - 6, ' ');
  std::string text =
      label + wrapped(routes.at("fabric").get<std::string>(), kIndent, terminal.columns) + "\n";
  if (routes.value("fabric_kind", "") == "loop") {
    text +=
        std::string(kIndent, ' ') +
        wrapped("Not RDMA: lanes reach only daemons on this host; calls to other hosts use TCP.",
                kIndent, terminal.columns) +
        "\n";
  }
  if (const json host = routes.value("host", json(nullptr)); !host.is_null()) {
    text += "host" + std::string(kIndent - 4, ' ') + cores_text(host) + "\n";
  }
  return text;
}

}  // namespace

json routes_wanted(json routes, const std::string& wanted) {
  if (wanted.empty()) return routes;
  json services = json::array();
  for (json& service : routes.at("services")) {
    const std::string name = service.at("service");
    json functions = json::array();
    for (const json& function : service.at("functions")) {
      const std::string full = name + "." + function.at("method").get<std::string>();
      if (wanted == name || wanted == full) functions.push_back(function);
    }
    if (!functions.empty()) services.push_back({{"service", name}, {"functions", functions}});
  }
  routes["services"] = services;
  return routes;
}

std::string routes_text(const json& routes, const Terminal& terminal) {
  std::string text = fabric_text(routes, terminal);
  for (const json& service : routes.at("services")) {
    for (const json& function : service.at("functions")) {
      text += "\n" + route_text(service.at("service"), function, terminal);
    }
  }
  return text;
}

}  // namespace hat::hatctl
