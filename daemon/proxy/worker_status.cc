// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/worker_status.cc: the reports of a worker for hatctl.
#include "daemon/proxy/worker_status.h"

#include <glog/logging.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "base/printable.h"
#include "daemon/proxy/worker.h"

namespace hat {

std::vector<AvoidedPeer> Worker::avoided_peers() const {
  const TimePoint now = reactor_.now();
  std::vector<AvoidedPeer> all;
  for (const auto& endpoint : local_.endpoints.all()) {
    const auto add = [&](std::string_view name, const auto& why) {
      std::string peer(name);
      if (!peers_.contains(peer)) return;  // a reload has removed it
      all.push_back({std::move(peer), to_string(endpoint->config.listen), why});
    };
    endpoint->ejected.for_each(now, add);
    if (endpoint->config.peers.size() > 1) endpoint->speeds.for_each_slow(now, add);
  }
  return all;
}

PeerList Worker::peer_status(size_t most) const {
  const TimePoint now = reactor_.now();
  std::unordered_map<const PeerLink*, Duration> oldest;
  for (const auto& [connection, owner] : connections_) {
    const Call* const call = connection->oldest_unanswered();
    if (call == nullptr || connection->link() == nullptr) continue;
    Duration& age = oldest[connection->link()];
    age = std::max(age, now - call->started);
  }
  const std::vector<PeerConfig>& peers = node().peers;
  PeerList list{.left_out = peers.size() - std::min(most, peers.size())};
  std::multimap<std::string, AvoidedPeer> avoided;
  for (AvoidedPeer& one : avoided_peers()) avoided.emplace(one.peer, std::move(one));
  for (const PeerConfig& config : std::span(peers).first(peers.size() - list.left_out)) {
    const PeerLink& peer = peers_.at(config.name);
    PeerStatus& status = list.shown.emplace_back();
    status.peer = config.name;
    status.address = link_text(config);
    status.group = config.group;
    status.zone = config.zone;
    status.weight = peer.weight();
    status.is_near = peer.is_near();
    status.state = peer.link().state();
    if (status.state == engine::LinkState::kUp) {
      status.in_state = now - peer.up_since();
    } else if (status.state != engine::LinkState::kIdle) {
      status.in_state = now - peer.link().down_since();
    }
    status.last_error = printable(error_of(config, peer));
    status.sessions = peer.link().sessions();
    status.streams = peer.streams();
    status.unanswered = peer.unanswered();
    const auto waits = oldest.find(&peer);
    if (waits != oldest.end() && waits->second >= kWaitingAtLeast) status.oldest = waits->second;
    status.calls = peer.calls();
    if (peer.lanes() != nullptr) status.lanes = peer.lanes()->status();
    const auto [begin, end] = avoided.equal_range(config.name);
    for (auto one = begin; one != end; ++one) status.avoided.push_back(one->second);
    if (!peer.link().up()) continue;
    const engine::Hello& hello = peer.link().session().peer();
    status.node = printable(hello.node);
    status.link_version = std::min(hello.version_max, engine::kLinkVersion);
    for (const std::string& name : peer.link().session().peer_names()) {
      status.names.push_back(printable(name));
    }
  }
  return list;
}

ConnectionList Worker::connection_status(ConnectionOrder order, size_t most) const {
  const Duration began = reactor_.cpu_time();
  const TimePoint now = reactor_.now();
  struct Ranked {
    uint64_t rank;
    const ClientConnection* connection;
  };
  std::vector<Ranked> all;
  all.reserve(connections_.size());
  for (const auto& [key, connection] : connections_) {
    all.push_back({connection->rank(order, now), key});
  }
  const auto end = all.begin() + static_cast<std::ptrdiff_t>(std::min(most, all.size()));
  std::ranges::partial_sort(all, end, std::ranges::greater(), &Ranked::rank);
  ConnectionList list{.open = all.size()};
  list.shown.reserve(static_cast<size_t>(end - all.begin()));
  for (auto one = all.begin(); one != end; ++one)
    list.shown.push_back(one->connection->status(now));
  list.took = reactor_.cpu_time() - began;
  return list;
}

UnansweredList Worker::unanswered_calls(size_t most) const {
  const TimePoint now = reactor_.now();
  struct Group {
    bool may_be_oneway = false;
    size_t calls = 0;
    TimePoint oldest = TimePoint::max();
  };
  using Key = std::tuple<const FunctionMetrics*, std::string_view, WaitsFor>;
  std::map<Key, Group> groups;
  for (const auto& [connection, owner] : connections_) {
    const Call* const call = connection->oldest_unanswered();
    if (call == nullptr || now - call->started < kWaitingAtLeast) continue;
    Group& group = groups[{call->counters->function, connection->peer_of(*call),
                           connection->waits_for(*call)}];
    group.may_be_oneway |= call->reply == Reply::kPossible;
    ++group.calls;
    group.oldest = std::min(group.oldest, call->started);
  }
  std::vector<std::pair<Key, Group>> all(groups.begin(), groups.end());
  const auto end = all.begin() + static_cast<std::ptrdiff_t>(std::min(most, all.size()));
  std::ranges::partial_sort(all, end, {}, [](const auto& one) { return one.second.oldest; });
  UnansweredList list{.left_out = static_cast<size_t>(all.end() - end)};
  for (auto one = all.begin(); one != end; ++one) {
    const auto& [function, peer, waits_for] = one->first;
    const Group& group = one->second;
    list.shown.push_back({function->service, function->method, std::string(peer), waits_for,
                          group.may_be_oneway, group.calls, now - group.oldest});
  }
  return list;
}

WayList Worker::ways_of(std::string_view service, std::string_view method, size_t most) const {
  const ServiceRoutes* const routes = routes_->find(service);
  if (routes == nullptr) return {};
  const Route& route = routes->find(method);
  const TimePoint now = reactor_.now();
  std::map<std::string_view, const PeerConfig*> configs;
  for (const PeerConfig& peer : node().peers) configs.emplace(peer.name, &peer);
  WayList list;
  std::vector<WayToPeer>& all = list.shown;
  for (const auto& endpoint : local_.endpoints.all()) {
    if (endpoint->config.service != service) continue;
    std::map<std::string_view, EjectionStatus> ejected;
    endpoint->ejected.for_each(
        now, [&](std::string_view name, const EjectionStatus& one) { ejected.emplace(name, one); });
    const size_t begin = all.size();
    int best = -1;
    const std::vector<std::string>& names = endpoint->config.peers;
    for (size_t i = 0; i < names.size(); ++i) {
      const auto found = peers_.find(names[i]);
      if (found == peers_.end()) continue;
      const PeerLink& peer = found->second;
      WayToPeer& way = all.emplace_back();
      way.endpoint = to_string(endpoint->config.listen);
      way.peer = names[i];
      way.state = peer.link().state();
      const auto config = configs.find(names[i]);
      DCHECK(config != configs.end()) << names[i] << " has a link";
      way.last_error = printable(error_of(*config->second, peer));
      if (const auto failed = ejected.find(names[i]); failed != ejected.end()) {
        way.is_avoided = failed->second.is_avoided();
        way.ejection = failed->second;
      }
      way.is_slow = names.size() > 1 && endpoint->speeds.burden(i, now) > 1;
      way.is_near = peer.is_near();
      way.weight = peer.weight();
      way.unanswered = peer.unanswered();
      if (way.state != engine::LinkState::kUp) continue;
      best = std::max(best, rank_of(way.is_avoided, way.is_near, way.is_slow));
      const CallPlan& planned = route.to(peer.plans().measured_as());
      way.learns = planned.plan.learned;
      if (way.learns || planned.plan.path != Path::kRdma) continue;
      way.small = peer.carrier_now(planned.lanes.small);
      way.large = peer.carrier_now(planned.lanes.large);
    }
    for (WayToPeer& way : std::span(all).subspan(begin)) {
      const int rank = rank_of(way.is_avoided, way.is_near, way.is_slow);
      if (way.state != engine::LinkState::kUp || rank / 2 < best / 2) continue;
      way.candidacy = rank == best ? Candidacy::kYes : Candidacy::kOverflow;
    }
  }
  list.left_out = all.size() - std::min(most, all.size());
  all.resize(all.size() - list.left_out);
  return list;
}

}  // namespace hat
