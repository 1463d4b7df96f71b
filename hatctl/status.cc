// SPDX-License-Identifier: Apache-2.0
// hatctl/status.cc: formats the answer of /status as text.
#include <array>
#include <map>

#include "base/quantities.h"
#include "hatctl/pages.h"

namespace hat::hatctl {
namespace {

using nlohmann::json;

std::string joined(const json& texts) {
  std::string all;
  for (const std::string text : texts) all += (all.empty() ? "" : ", ") + text;
  return all;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

std::string reload_line(const json& last, double unix_now) {
  std::string read = "read " + age_text(unix_now - last.at("unix_time").get<double>()) + " ago";
  if (last.at("successful")) return read;
  return read + "; the last reload was refused:\n  " +
         first_line(last.at("error").get<std::string>()) +
         "\n  `hatctl reload --dry-run` shows all errors";
}

// A row of the table of links. Every worker of the daemon has its own link to each peer that its
// clients need, and one row summarizes the links of all workers to one peer.
struct PeerRow {
  std::string address;
  uint64_t up = 0;
  uint64_t idle = 0;  // that no client needs
  uint64_t workers = 0;
  uint64_t sessions = 0;
  std::string last_error;
};

std::string links_text(const json& links, const Terminal& terminal) {
  std::map<std::string, PeerRow> peers;
  for (const json& link : links) {
    PeerRow& row = peers[link.at("peer")];
    row.address = link.at("address");
    row.up += link.at("up").get<bool>();
    row.idle += link.value("state", "") == "idle";
    ++row.workers;
    row.sessions += link.at("sessions").get<uint64_t>();
    if (const std::string error = link.at("last_error"); !error.empty()) row.last_error = error;
  }
  if (peers.empty()) return "";
  Table table(
      {{"LINK TO"}, {"ADDRESS"}, {"UP", true}, {"IDLE", true}, {"SESSIONS", true}, {"LAST ERROR"}});
  for (const auto& [peer, row] : peers) {
    table.add({peer, row.address, std::to_string(row.up) + "/" + std::to_string(row.workers),
               std::to_string(row.idle), std::to_string(row.sessions),
               row.up + row.idle < row.workers ? row.last_error : ""});
  }
  return "\n" + table.text(terminal);
}

// Returns the table of RDMA lanes. Lanes of several workers share a row if their peer, protocol,
// class, state and last error are equal.
std::string lanes_text(const json& links, const Terminal& terminal) {
  std::map<std::array<std::string, 5>, uint64_t> rows;
  for (const json& link : links) {
    for (const json& lane : link.at("lanes")) {
      ++rows[{link.at("peer"), lane.at("protocol"), lane.at("class"), lane.at("state"),
              lane.at("last_error")}];
    }
  }
  if (rows.empty()) return "";
  Table table(
      {{"RDMA LANE TO"}, {"PROTOCOL"}, {"CLASS"}, {"STATE"}, {"LANES", true}, {"LAST ERROR"}});
  for (const auto& [row, count] : rows) {
    const auto& [peer, protocol, lanes, state, error] = row;
    table.add({peer, protocol, lanes, state, std::to_string(count), error});
  }
  return "\n" + table.text(terminal);
}

std::string places_text(const json& status, const Terminal& terminal) {
  std::string text;
  Table endpoints({{"ENDPOINT"}, {"SERVICE"}, {"PEERS"}});
  for (const json& endpoint : status.at("endpoints")) {
    endpoints.add({endpoint.at("listen"), endpoint.at("service"), joined(endpoint.at("peers"))});
  }
  if (!endpoints.empty()) text += "\n" + endpoints.text(terminal);
  Table serves({{"SERVES"}, {"UPSTREAM"}, {"MODE"}});
  for (const json& served : status.at("serves")) {
    const json& ring = served.at("ring");
    const std::string upstream = served.at("upstream");
    serves.add({served.at("service"),
                ring.is_null() ? upstream : upstream + " or shm:" + ring.get<std::string>(),
                served.at("mode")});
  }
  if (!serves.empty()) text += "\n" + serves.text(terminal);
  return text;
}

// Returns the names that the configuration has in place of addresses; an empty text if there are
// none.
std::string names_text(const json& status, const Terminal& terminal) {
  Table table({{"NAME"}, {"ADDRESSES"}, {"LAST ERROR"}});
  for (const json& name : status.value("names", json::array())) {  // absent: an older hatrpcd
    table.add({name.at("name"), joined(name.at("addresses")), name.at("error")});
  }
  return table.empty() ? "" : "\n" + table.text(terminal);
}

// Returns the cores and the NUMA node of each worker; an empty text if no worker is bound.
std::string workers_text(const json& status, const Terminal& terminal) {
  const json placements = status.value("worker_placement", json::array());
  Table table({{"WORKER", true}, {"CORES"}, {"NUMA NODE", true}});
  bool bound = false;
  for (size_t i = 0; i < placements.size(); ++i) {
    const std::string cores = placements[i].at("cores");
    const json& node = placements[i].at("numa_node");
    bound |= !cores.empty();
    table.add({std::to_string(i), cores.empty() ? "any" : cores,
               node.is_null() ? "any" : std::to_string(node.get<int>())});
  }
  return bound ? "\n" + table.text(terminal) : "";
}

std::string local_replies_text(const json& local_replies, const Terminal& terminal) {
  Table table({{"HATRPCD ANSWERED ITSELF"}, {"CALLS", true}});
  for (const auto& [token, count] : local_replies.items()) {
    if (count.get<uint64_t>() != 0) table.add({token, std::to_string(count.get<uint64_t>())});
  }
  return table.empty() ? "" : "\n" + table.text(terminal);
}

std::string links_line(const std::string& security, const Terminal& terminal) {
  if (security == "tls") return "links        TLS 1.3, both sides with a certificate\n";
  if (security != "insecure") return "";
  return "links        " + coloured("insecure", Colour::kRed, terminal) +
         ": neither authenticated nor encrypted\n";
}

}  // namespace

std::string status_text(const json& status, double unix_now, const Terminal& terminal) {
  const json& pending = status.at("pending");
  const std::string ready = pending.empty() ? coloured("ready", Colour::kGreen, terminal)
                                            : coloured("not ready", Colour::kRed, terminal) +
                                                  ", pending: " + joined(pending);
  const auto number = [&](const char* key) { return status.at(key).get<uint64_t>(); };
  std::string text;
  text += "node         " + status.at("node").get<std::string>() + ", " + ready + "\n";
  text += "hatrpcd      " + status.at("version").get<std::string>() + ", pid " +
          std::to_string(number("pid")) + ", " + status.at("state").get<std::string>() + " for " +
          age_text(status.at("uptime_s")) + ", " + plural(number("workers"), "worker") + "\n";
  text += "routes       generation " + std::to_string(number("generation")) + ", " +
          reload_line(status.at("last_reload"), unix_now) + "\n";
  text += "fabric       " + status.at("fabric").get<std::string>() + "\n";
  text += links_line(status.at("link_security"), terminal);
  text += "connections  " + std::to_string(number("connections_open")) + " of clients, " +
          std::to_string(number("upstream_connections_open")) + " to servers, " +
          size_text(status.at("buffered_bytes")) + " held for slow readers\n";
  text += workers_text(status, terminal);
  text += links_text(status.at("links"), terminal);
  text += lanes_text(status.at("links"), terminal);
  text += names_text(status, terminal);
  text += places_text(status, terminal);
  text += local_replies_text(status.at("local_replies"), terminal);
  return text;
}

}  // namespace hat::hatctl
