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

json avoided_json(size_t worker, const AvoidedPeer& avoided) {
  json one = ejection_json(avoided.ejection);
  one["worker"] = worker;
  one["endpoint"] = avoided.endpoint;
  return one;
}

json endpoints_of(const std::string& peer, const NodeConfig& node) {
  json all = json::array();
  for (const EndpointConfig& endpoint : node.endpoints) {
    if (std::ranges::find(endpoint.peers, peer) == endpoint.peers.end()) continue;
    all.push_back({{"listen", to_string(endpoint.listen)}, {"service", endpoint.service}});
  }
  return all;
}

json peer_json(const PeerStatus& status, const NodeConfig& node) {
  return {{"peer", status.peer},
          {"address", status.address},
          {"group", status.group},
          {"node", ""},
          {"names", json::array()},
          {"zone", status.zone},
          {"is_near", status.is_near},
          {"weight", status.weight},
          {"link_version", nullptr},
          {"endpoints", endpoints_of(status.peer, node)},
          {"unanswered", 0},
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

json peers_json(Control& control) {
  json peers = json::array();
  std::map<std::string, size_t> places;  // in `peers`
  for (const PeerReport& report : control.peers()) {
    const auto [place, is_new] = places.try_emplace(report.status.peer, peers.size());
    if (is_new) peers.push_back(peer_json(report.status, control.node()));
    add(report, peers[place->second]);
  }
  return {{"link_security", link_security(control.node())}, {"peers", std::move(peers)}};
}

}  // namespace hat
