// SPDX-License-Identifier: Apache-2.0
#include "daemon/admin/peers_json.h"

#include <algorithm>
#include <array>
#include <map>

#include "base/rounded.h"
#include "daemon/admin/admin_json.h"

namespace hat {

using nlohmann::json;

namespace {

double seconds(Duration time) { return rounded(std::chrono::duration<double>(time).count(), 3); }

json link_json(size_t worker, const PeerStatus& status) {
  const bool is_idle = status.state == engine::LinkState::kIdle;
  return {{"worker", worker},
          {"state", name(status.state)},
          {"in_state_s", is_idle ? json(nullptr) : json(seconds(status.in_state))},
          {"sessions", status.sessions},
          {"last_error", status.last_error},
          {"unanswered", status.unanswered},
          {"calls", status.calls},
          {"streams", status.streams},
          {"lanes", lanes_json(status.lanes)}};
}

json slow_json(const SlowStatus& slow) {
  return {{"state", "slow"},
          {"left_s", seconds(slow.until_trial)},
          {"failures", 0},
          {"why", ""},
          {"times", rounded(static_cast<double>(slow.times), 1)}};
}

json avoided_json(size_t worker, const AvoidedPeer& avoided) {
  const SlowStatus* const slow = std::get_if<SlowStatus>(&avoided.why);
  json one =
      slow != nullptr ? slow_json(*slow) : ejection_json(std::get<EjectionStatus>(avoided.why));
  one["worker"] = worker;
  one["endpoint"] = avoided.endpoint;
  return one;
}

// By peer, the endpoints that have it.
using EndpointsOfPeers = std::map<std::string_view, json>;

EndpointsOfPeers endpoints_of_peers(const NodeConfig& node) {
  EndpointsOfPeers all;
  for (const EndpointConfig& endpoint : node.endpoints) {
    const json one = {{"listen", to_string(endpoint.listen)}, {"service", endpoint.service}};
    for (const std::string& peer : endpoint.peers) {
      all.try_emplace(peer, json::array()).first->second.push_back(one);
    }
  }
  return all;
}

json peer_json(const PeerStatus& status, const EndpointsOfPeers& endpoints) {
  const auto own = endpoints.find(status.peer);
  return {{"peer", status.peer},
          {"address", status.address},
          {"group", status.group},
          {"node", ""},
          {"names", json::array()},
          {"zone", status.zone},
          {"is_near", status.is_near},
          {"weight", status.weight},
          {"link_version", nullptr},
          {"endpoints", own == endpoints.end() ? json::array() : own->second},
          {"unanswered", 0},
          {"oldest_unanswered_s", nullptr},
          {"calls", 0},
          {"streams", 0},
          {"workers", json::array()},
          {"avoided", json::array()}};
}

void add(const PeerReport& report, json& peer) {
  const PeerStatus& status = report.status;
  if (status.link_version != 0) {
    peer["node"] = status.node;
    peer["names"] = status.names;
    peer["link_version"] = status.link_version;
  }
  const auto add_to = [&](const char* key, uint64_t more) {
    peer[key] = peer[key].get<uint64_t>() + more;
  };
  add_to("unanswered", status.unanswered);
  add_to("calls", status.calls);
  add_to("streams", status.streams);
  if (status.oldest) {
    json& oldest = peer["oldest_unanswered_s"];
    const double age = seconds(*status.oldest);
    oldest = oldest.is_null() ? age : std::max(oldest.get<double>(), age);
  }
  peer["workers"].push_back(link_json(report.worker, status));
  for (const AvoidedPeer& avoided : status.avoided) {
    peer["avoided"].push_back(avoided_json(report.worker, avoided));
  }
}

}  // namespace

json ejection_json(const EjectionStatus& ejection) {
  constexpr std::array kStates = {"failing", "ejected", "due", "tried"};
  return {{"state", kStates[static_cast<size_t>(ejection.state)]},
          {"left_s", seconds(ejection.left)},
          {"failures", ejection.failures},
          {"why", ejection.why}};
}

size_t reports_of_worker(const Control& control) {
  return std::max<size_t>(1, kReportsMost / std::max<size_t>(1, control.workers().size()));
}

json peers_json(Control& control) {
  const auto report = control.peers(reports_of_worker(control));
  const EndpointsOfPeers endpoints = endpoints_of_peers(control.node());
  json peers = json::array();
  std::map<std::string_view, size_t> places;  // in `peers`
  for (const PeerReport& one : report.shown) {
    const auto [place, is_new] = places.try_emplace(one.status.peer, peers.size());
    if (is_new) peers.push_back(peer_json(one.status, endpoints));
    add(one, peers[place->second]);
  }
  return {{"link_security", link_security(control.node())},
          {"workers", control.workers().size()},
          {"workers_silent", report.silent},
          {"left_out", report.left_out},
          {"peers", std::move(peers)}};
}

json avoided_peers_json(Control& control) {
  const auto report = control.avoided_peers(reports_of_worker(control));
  std::map<std::string_view, json> by_peer;
  for (const AvoidedReport& one : report.shown) {
    json& avoided = by_peer.try_emplace(one.avoided.peer, json::array()).first->second;
    avoided.push_back(avoided_json(one.worker, one.avoided));
  }
  json peers = json::array();
  for (auto& [peer, avoided] : by_peer) {
    peers.push_back({{"peer", peer}, {"avoided", std::move(avoided)}});
  }
  return {{"workers", control.workers().size()},
          {"workers_silent", report.silent},
          {"left_out", report.left_out},
          {"peers", std::move(peers)}};
}

}  // namespace hat
