// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/worker_links.cc: the links of a worker to peers: which one a client gets, when they
// are made, and when they end.
#include <glog/logging.h>

#include <algorithm>
#include <set>

#include "config/node_changes.h"
#include "daemon/proxy/worker.h"
#include "daemon/proxy/worker_status.h"

namespace hat {

// --- The choice of a peer ---

PeerLink* Worker::choose_peer(PeerNames peers, Endpoint& endpoint, FirstAttempts first_attempts) {
  auto& [choice, candidates, decide, decide_at] = choosing_;
  const TimePoint now = reactor_.now();
  candidates.clear();
  // The best rank of a usable peer so far. Only peers of this rank are candidates, slow ones too.
  int best = 0;
  int best_to_come = -1;  // the best rank of a link that may come up soon
  TimePoint comes_until{};
  const bool has_choice = peers.size() > 1;  // then they are those of the endpoint
  PeerLink* trial = nullptr;                 // a slow candidate that should be tried
  for (size_t i = 0; i < peers.size(); ++i) {
    const auto found = peers_.find(peers[i]);
    if (found == peers_.end()) continue;
    PeerLink& peer = found->second;
    peer.wake(now);
    const bool is_avoided = endpoint.ejected.avoids(peers[i], now);
    const float burden = has_choice ? endpoint.speeds.burden(i, now) : 1;
    const int rank = rank_of(is_avoided, peer.is_near(), burden > 1);
    if (!peer.link().takes_calls()) {
      if (const TimePoint until = awaited_until(peer); now < until) {
        best_to_come = std::max(best_to_come, rank);
        comes_until = std::max(comes_until, until);
      }
      continue;
    }
    if (rank / 2 < best / 2) continue;
    if (rank / 2 > best / 2) {
      candidates.clear();
      trial = nullptr;
    }
    best = std::max(best, rank);
    if (has_choice && endpoint.speeds.wants_trial(i, now)) trial = &peer;
    candidates.push_back({i, peer.weight(), peer.unanswered(), burden});
  }
  if (candidates.empty()) {
    for (const std::string& name : peers) {
      if (const auto found = peers_.find(name); found != peers_.end()) {
        found->second.link().connect_now();
      }
    }
    return nullptr;
  }
  if (best_to_come >= best && first_attempts == FirstAttempts::kAwait) {
    if (decide_at <= now || comes_until < decide_at) decide->set(decide_at = comes_until);
    return nullptr;
  }
  if (trial != nullptr) return trial;
  leave_out_slow(candidates);
  const size_t chosen = choice.choose(candidates, endpoint.turns);
  return &peers_.find(peers[candidates[chosen].position])->second;
}

// Returns the time until which clients wait for the link's first attempt to connect; returns the
// zero of the clock if the link is not in its first attempt.
TimePoint Worker::awaited_until(const PeerLink& link) const {
  if (link.link().state() != engine::LinkState::kConnecting) return {};
  return link.link().last_attempt() +
         std::min<Duration>(kFirstAttemptWait, node().limits.peer_wait / 2);
}

bool Worker::serves_calls(const PeerLink& link, const Endpoint& endpoint) const {
  return link.link().takes_calls() && !endpoint.ejected.avoids(link.link().peer(), reactor_.now());
}

bool Worker::has_other_peer(const PeerLink& link, PeerNames peers, const Endpoint& endpoint) {
  const TimePoint now = reactor_.now();
  bool has_other = false;
  for (const std::string& name : peers) {
    const auto found = peers_.find(name);
    if (found == peers_.end() || &found->second == &link || endpoint.ejected.avoids(name, now)) {
      continue;
    }
    found->second.wake(now);
    has_other |= found->second.link().takes_calls() || now < awaited_until(found->second);
  }
  return has_other;
}

PeerLink* Worker::choose_for_call(Endpoint& endpoint) {
  const TimePoint now = reactor_.now();
  const auto& links = links_of(endpoint);
  PeerSpeeds& speeds = endpoint.speeds;
  if (!links.empty() && !speeds.wants_trial(now)) {
    const auto [first, second] = choosing_.choice.two_of(links);
    const auto candidate = [&](size_t index) -> PeerCandidate {
      const auto& one = links[index];
      return {index, one.weight, one.peer->unanswered(), speeds.burden(one.position, now)};
    };
    const auto is_usable = [&](const PeerCandidate& one) {
      return !one.is_slow() && serves_calls(*links[one.position].peer, endpoint);
    };
    const PeerCandidate one = candidate(first);
    const PeerCandidate other = candidate(second);
    if (is_usable(one) && is_usable(other)) {
      const PeerCandidate& chosen = first != second && wins(other, one) ? other : one;
      const float of_slow = PeerSpeeds::kBurdenMin / static_cast<float>(links.weight_max());
      if (!speeds.has_slow() || load_with_call(chosen) <= kSlowRoom * of_slow) {
        return links[chosen.position].peer;
      }
    }
  }
  PeerLink* const chosen = choose_peer(endpoint.config.peers, endpoint, FirstAttempts::kIgnore);
  return chosen != nullptr && serves_calls(*chosen, endpoint) ? chosen : nullptr;
}

const WeightedPeers& Worker::links_of(Endpoint& endpoint) {
  WeightedPeers& links = endpoint.links;
  if (std::exchange(endpoint.links_version, links_version_) == links_version_) return links;
  const std::vector<std::string>& names = endpoint.config.peers;
  const auto is_near = [&](const std::string& name) {
    const auto found = peers_.find(name);
    return found != peers_.end() && found->second.is_near();
  };
  const bool has_near = std::ranges::any_of(names, is_near);
  links.clear();
  for (size_t i = 0; i < names.size(); ++i) {
    const auto found = peers_.find(names[i]);
    if (found == peers_.end() || (has_near && !found->second.is_near())) continue;
    links.add(&found->second, i, found->second.weight());
  }
  return links;
}

bool Worker::peers_hopeless(PeerNames peers, TimePoint since) const {
  return std::ranges::all_of(peers, [&](const std::string& name) {
    const auto found = peers_.find(name);
    if (found == peers_.end()) return true;
    const engine::Link& link = found->second.link();
    return !link.takes_calls() && !link.trying() && link.last_attempt() >= since &&
           reactor_.now() - link.down_since() > node().limits.peer_wait;
  });
}

std::string Worker::peer_errors(PeerNames peers) const {
  if (peers.empty()) return "no peer in the configuration serves this service at present";
  std::string text;
  for (const std::string& name : peers) {
    if (!text.empty()) text += "; ";
    const auto found = peers_.find(name);
    if (found == peers_.end()) {
      text += name + " was removed from the configuration";
      continue;
    }
    const PeerConfig& peer = *std::ranges::find(node().peers, name, &PeerConfig::name);
    const std::string& error = error_of(peer, found->second);
    text += name + " at " + link_text(peer) + ": " +
            (error.empty() ? "the peer is shutting down" : error);
  }
  return text;
}

const std::string& Worker::error_of(const PeerConfig& peer, const PeerLink& link) {
  return peer.why_unknown.empty() ? link.link().last_error() : peer.why_unknown;
}

// --- The links ---

PeerLink& Worker::make_link(const PeerConfig& peer) {
  const auto [made, is_new] = peers_.try_emplace(peer.name, *this, peer, session_options(peer),
                                                 setup_.rdma, setup_.seed + ++links_made_);
  DCHECK(is_new);
  ++links_version_;
  made->second.plans().set_table(routes_, made->second);
  made->second.plans().set_kept(setup_.kept);
  made->second.set_preference(peer, node());
  return made->second;
}

void Worker::replace(PeerLink& peer) {
  peer.link().retire();
  PeerLink& made = put_in_place_of(peer);
  made.link().follow(peer.link());
  made.link().connect_now();
  for (ClientConnection* connection : peer.connections()) connection->on_link_leaves();
}

// Makes a new link to the peer of `old`, for calls that begin from now on. It does not connect yet.
PeerLink& Worker::put_in_place_of(PeerLink& old) {
  const std::string name = old.link().peer();
  leaving_.push_back(peers_.extract(name));
  DCHECK_EQ(&leaving_.back().mapped(), &old);
  PeerLink& made = make_link(*std::ranges::find(node().peers, name, &PeerConfig::name));
  made.continue_learning(old);
  return made;
}

// Returns true if a link ends when no client needs it. Without limits.peer_wait, calls could not
// wait for a link that they need.
bool Worker::ends_idle_links() const {
  const Limits& limits = node().limits;
  return !setup_.keeps_links && limits.link_idle > Duration::zero() &&
         limits.peer_wait > Duration::zero();
}

void Worker::end_idle_links() {
  if (!ends_idle_links()) return;
  const Duration idle = node().limits.link_idle;
  const TimePoint now = reactor_.now();
  std::vector<PeerLink*> unused;
  for (auto& [name, peer] : peers_) {
    const engine::LinkState state = peer.link().state();
    // A client that waits needs the links that are down.
    const bool may_end = state == engine::LinkState::kUp ||
                         (state == engine::LinkState::kDown && waiting_.clients.empty());
    if (may_end && peer.is_unused_since(now - idle)) unused.push_back(&peer);
  }
  for (PeerLink* peer : unused) end_idle_link(*peer);
  idle_check_->set(now + idle / 4);
}

void Worker::end_idle_link(PeerLink& peer) {
  if (peer.link().takes_calls()) {
    counters().peer_events.add(peer.link().peer(), PeerEvent::kIdleEnd);
  }
  put_in_place_of(peer).link().continue_count(peer.link());
  peer.retire();
}

void Worker::on_link_news() {
  const std::vector<std::pair<uint64_t, ClientConnection*>> waiting(waiting_.clients.begin(),
                                                                    waiting_.clients.end());
  for (const auto& [ticket, connection] : waiting) {
    if (waiting_.clients.contains(ticket)) connection->on_link_news();
  }
}

std::vector<LinkStatus> Worker::link_status() const {
  std::set<std::string> slow;
  for (const AvoidedPeer& one : avoided_peers()) {
    if (std::holds_alternative<SlowStatus>(one.why)) slow.insert(one.peer);
  }
  std::vector<LinkStatus> all;
  for (const PeerConfig& config : node().peers) {
    const PeerLink& peer = peers_.at(config.name);
    LinkStatus& status = all.emplace_back();
    status = {config.name,
              link_text(config),
              peer.link().state(),
              error_of(config, peer),
              peer.link().sessions(),
              peer.lanes() != nullptr ? peer.lanes()->status() : std::vector<LaneStatus>(),
              {},
              {},
              peer.lanes() != nullptr ? peer.lanes()->legs() : 0,
              "",
              slow.contains(config.name)};
    if (!peer.link().up()) continue;
    status.node = peer.link().session().peer().node;
    status.cores = peer.link().session().peer().cores;
    const auto names = peer.link().session().peer_names();
    status.peer_names.assign(names.begin(), names.end());
  }
  return all;
}

// Makes the links to the peers of the configuration. `before` are the peers before a reload: the
// links to those whose address or identity has changed, or that are gone, are retired.
void Worker::set_peers(const std::vector<PeerConfig>& before) {
  ++links_version_;
  for (auto& [name, peer] : peers_) peer.end_idle_streams();
  std::vector<PeerLink*> retired;
  for (const PeerConfig& old : before) {
    const auto next = std::ranges::find(node().peers, old.name, &PeerConfig::name);
    if (next != node().peers.end() && same_link(old, *next)) continue;
    if (next == node().peers.end()) counters().peer_events.remove_peer(old.name);
    leaving_.push_back(peers_.extract(old.name));
    retired.push_back(&leaving_.back().mapped());
  }
  for (const PeerConfig& peer : node().peers) {
    if (const auto kept = peers_.find(peer.name); kept != peers_.end()) {
      kept->second.link().set_options(session_options(peer), node().limits.reconnect_backoff_max);
      kept->second.set_preference(peer, node());
      engine::Link& link = kept->second.link();
      if (!ends_idle_links() && link.state() == engine::LinkState::kIdle) link.connect_now();
      continue;
    }
    counters().peer_events.add_peer(peer.name);
    PeerLink& made = make_link(peer);
    const auto old = std::ranges::find(retired, peer.name,
                                       [](const PeerLink* one) { return one->link().peer(); });
    if (old != retired.end()) made.continue_learning(**old);
    const bool has_streams = old != retired.end() && !(*old)->connections().empty();
    if (!ends_idle_links() || has_streams) made.link().connect_now();
  }
  end_idle_links();
  for (PeerLink* peer : retired) {
    peer->retire();
    for (ClientConnection* connection : peer->connections()) connection->on_link_leaves();
  }
}

}  // namespace hat
