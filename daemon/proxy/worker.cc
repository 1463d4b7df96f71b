// SPDX-License-Identifier: Apache-2.0
#include "daemon/proxy/worker.h"

#include <glog/logging.h>

#include <algorithm>
#include <functional>

#include "config/node_changes.h"

namespace hat {

using engine::FrameHeader;

// The most links whose peer has not sent its hello. Any host can connect to the port for links, so
// connections without a hello must not use all descriptors of the process.
constexpr size_t kHandshakesMax = 256;

// Objects that are deleted at the end of the iteration, when no function of the objects can be
// running.
struct Worker::Deferred {
  std::list<Peers::node_type> peers;  // destroyed after the peers' sessions and lanes
  std::vector<std::unique_ptr<ClientConnection>> connections;
  std::vector<std::unique_ptr<ServerStream>> streams;
  std::vector<std::unique_ptr<UpstreamConnection>> upstreams;
  std::vector<std::unique_ptr<engine::Session>> sessions;
  std::vector<std::unique_ptr<PeerLanes>> lanes;  // destroyed before their sessions
  std::vector<std::unique_ptr<engine::CalibrationSession>> calibrations;
  std::vector<std::unique_ptr<AcceptedLink>> links;

  bool empty() const {
    return connections.empty() && streams.empty() && upstreams.empty() && sessions.empty() &&
           lanes.empty() && calibrations.empty() && links.empty() && peers.empty();
  }
};

Worker::Worker(Reactor& reactor, Setup setup)
    : reactor_(reactor),
      setup_(std::move(setup)),
      routes_(setup_.routes),
      deadlines_(reactor),
      upstreams_(*this, setup_.seed),
      choosing_{PeerChoice(setup_.seed + 1), {}, reactor.timer([this] { on_link_news(); })},
      deferred_(std::make_unique<Deferred>()),
      next_iteration_(reactor.timer([] {})),
      idle_check_(reactor.timer([this] { end_idle_links(); })) {
  reactor_.add_iteration_events(*this);
  set_local(node());
  set_peers({});
}

Worker::~Worker() {
  reactor_.remove_iteration_events(*this);
  connections_.clear();
  accepted_.clear();
  while (!deferred_->empty()) std::exchange(deferred_, std::make_unique<Deferred>()).reset();
}

engine::SessionOptions Worker::session_options() const {
  const Limits& limits = node().limits;
  return {.node = node().node,
          .peer = "",
          .generation = setup_.generation,
          .legs = setup_.rdma == nullptr ? 0 : setup_.rdma->legs(),
          .cores = routes_->cores(),
          .seal = setup_.seal,
          .handshake_timeout = limits.connect_timeout,
          .keepalive_interval = limits.keepalive_interval,
          .keepalive_timeout = limits.keepalive_timeout};
}

// A peer that belongs to a group does not have the name of its node: the group's addresses decide
// which nodes belong to it.
engine::SessionOptions Worker::session_options(const PeerConfig& peer) const {
  engine::SessionOptions options = session_options();
  options.peer = peer.name;
  options.peer_is_node = peer.group.empty();
  return options;
}

// --- Local clients ---

void Worker::accept_client(size_t endpoint, const ListenerEvents::Accept& accept) {
  const std::shared_ptr<Endpoint>& at = local_.endpoints.all().at(endpoint);
  if (at->connections >= node().limits.connections_max || draining_) {
    counters().connections_refused.add();
    return;
  }
  counters().connections_accepted.add();
  add_client(at, accept);
}

// Does not check limits.max_connections, which the predecessor checked when it accepted the
// connection.
void Worker::take_over_client(size_t endpoint, const ListenerEvents::Accept& accept,
                              engine::Bytes read, const KeptServer* server) {
  counters().connections_taken_over.add();
  add_client(local_.endpoints.all().at(endpoint), accept).continue_from(read, server);
}

ClientConnection& Worker::add_client(const std::shared_ptr<Endpoint>& endpoint,
                                     const ListenerEvents::Accept& accept) {
  ++endpoint->connections;
  counters().connections_open.add();
  auto connection = std::make_unique<ClientConnection>(*this, endpoint, accept);
  ClientConnection& added = *connection;
  connections_.emplace(&added, std::move(connection));
  return added;
}

void Worker::defer_delete(ClientConnection& connection) {
  const auto found = connections_.find(&connection);
  if (found == connections_.end()) return;
  --connection.endpoint().connections;
  counters().connections_open.sub();
  deferred_->connections.push_back(std::move(found->second));
  connections_.erase(found);
}

void Worker::buffered(int64_t change) {
  DCHECK_GE(static_cast<int64_t>(buffered_bytes_) + change, 0) << "less than nothing is buffered";
  buffered_bytes_ += static_cast<uint64_t>(change);
  counters().buffered_bytes.add(static_cast<uint64_t>(change));
}

void Worker::buffered(int64_t change, PeerShare& peer) {
  buffered(change);
  peer_shares_.add(&PeerShare::buffered_bytes, peer, change);
}

void Worker::keep_polling(Polling polling) {
  // How long the worker polls after a call with the polling mode `busy`. The time is limited, so
  // that an idle connection does not use a core.
  constexpr Duration kBusySpin = std::chrono::milliseconds(10);
  switch (polling) {
    case Polling::kBusy:
      return reactor_.poll_for(kBusySpin);
    case Polling::kAdaptive:
      return reactor_.poll_for(node().limits.spin);
    case Polling::kEvent:
      return reactor_.poll_for(Duration::zero());
  }
}

void Worker::set_kept(std::shared_ptr<const LearnedChoices> kept) {
  setup_.kept = std::move(kept);
  for (auto& [name, peer] : peers_) peer.plans().set_kept(setup_.kept);
}

std::vector<LearnedStatus> Worker::learned_status() const {
  std::vector<LearnedStatus> all;
  for (const auto& [name, peer] : peers_) {
    for (LearnedStatus& one : peer.plans().status()) all.push_back(std::move(one));
  }
  return all;
}

Result<void> Worker::calibrate(const std::string& peer, const engine::CostOpen& open,
                               std::shared_ptr<engine::CalibrationJob> job) {
  const auto found = peers_.find(peer);
  if (found == peers_.end()) {
    return fail(ErrorCode::kNotFound, "a reload has removed the peer " + peer);
  }
  PeerLink& to = found->second;
  if (!to.link().takes_calls()) {
    const std::string& why = to.link().last_error();
    return fail(ErrorCode::kUnavailable, "the link to peer " + peer + " takes no new calls: " +
                                             (why.empty() ? "the peer is shutting down" : why));
  }
  const engine::Hello& hello = to.link().session().peer();
  if (hello.node == node().node) {  // a daemon of a group
    return fail(ErrorCode::kInvalid, "peer " + peer +
                                         " is this node itself, and a node cannot "
                                         "calibrate with itself; name another peer");
  }
  if (to.costs() == nullptr)
    return fail(ErrorCode::kUnsupported,
                "peer " + peer + " has no RDMA fabric: calls to it go over TCP");
  if (hello.version_max < engine::kLinkVersionOfCosts) {
    return fail(ErrorCode::kUnsupported,
                "peer " + peer + "'s hatrpcd is older than this one and does not calibrate");
  }
  return to.costs()->open(open, std::move(job));
}

void Worker::set_local(const NodeConfig& node) {
  if (setup_.access_log != nullptr) setup_.access_log->set(node.access_log);
  local_.endpoints.apply(node.endpoints, &same_clients);
  for (const auto& endpoint : local_.endpoints.all()) {
    endpoint->speeds.set_peers(endpoint->config.peers);
  }
  for (const auto& gone : local_.served.apply(node.serves, &same_server)) upstreams_.retire(*gone);
  for (const auto& served : local_.served.all()) upstreams_.retire(*served);
}

void Worker::set_node(std::shared_ptr<const NodeConfig> node,
                      std::shared_ptr<const RoutingTable> routes) {
  reactor_.assert_in_loop();
  const std::shared_ptr<const NodeConfig> before = std::exchange(setup_.node, std::move(node));
  set_local(*setup_.node);
  for (const auto& endpoint : local_.endpoints.all()) endpoint->turns = {};
  set_routes(std::move(routes));
  set_peers(before->peers);
  on_link_news();
}

bool Worker::offers(const EndpointConfig& endpoint) const {
  return std::ranges::any_of(local_.endpoints.all(),
                             [&](const auto& one) { return same_clients(one->config, endpoint); });
}

std::shared_ptr<const Served> Worker::find_served(std::string_view service) const {
  const auto& all = local_.served.all();
  const auto find = [&](std::string_view name) {
    return std::ranges::find(
        all, name, [](const auto& one) -> std::string_view { return one->config.service; });
  };
  auto found = find(service);
  if (found == all.end()) found = find(kAnyService);
  return found == all.end() ? nullptr : *found;
}

void Worker::set_routes(std::shared_ptr<const RoutingTable> routes) {
  reactor_.assert_in_loop();
  routes_ = std::move(routes);
  for (auto& [name, peer] : peers_) peer.plans().set_table(routes_, peer);
  for (auto& [key, link] : accepted_) link->on_new_routes();
}

// --- Links from peers ---

void Worker::accept_link(const ListenerEvents::Accept& accept) {
  reactor_.assert_in_loop();
  if (draining_) return;
  make_room_for_a_link();
  auto link = std::make_unique<AcceptedLink>(*this, session_options(), accept);
  const AcceptedLink* key = link.get();
  accepted_.emplace(key, std::move(link));
}

void Worker::make_room_for_a_link() {
  size_t unknown = 0;
  AcceptedLink* oldest = nullptr;
  for (const auto& [key, link] : accepted_) {
    if (link->is_up()) continue;
    ++unknown;
    if (oldest == nullptr || link->began() < oldest->began()) oldest = link.get();
  }
  if (unknown >= kHandshakesMax)
    oldest->end("too many connections have not sent their hello, and this one is the oldest");
}

// --- Ends ---

void Worker::defer_delete(std::unique_ptr<UpstreamConnection> upstream) {
  deferred_->upstreams.push_back(std::move(upstream));
}

void Worker::defer_delete(std::unique_ptr<engine::Session> session) {
  if (session) deferred_->sessions.push_back(std::move(session));
}

void Worker::defer_delete(AcceptedLink& link) {
  const auto found = accepted_.find(&link);
  if (found == accepted_.end()) return;
  deferred_->links.push_back(std::move(found->second));
  accepted_.erase(found);
}

void Worker::defer_delete(std::unique_ptr<PeerLanes> lanes) {
  deferred_->lanes.push_back(std::move(lanes));
}

void Worker::defer_delete(std::unique_ptr<engine::CalibrationSession> costs) {
  deferred_->calibrations.push_back(std::move(costs));
}

void Worker::defer_delete(PeerLink& replaced) {
  const auto node =
      std::ranges::find_if(leaving_, [&](const auto& one) { return &one.mapped() == &replaced; });
  CHECK(node != leaving_.end()) << "only a link that was replaced ends for good";
  deferred_->peers.splice(deferred_->peers.end(), leaving_, node);
}

void Worker::defer_delete(std::unique_ptr<ServerStream> stream) {
  deferred_->streams.push_back(std::move(stream));
}

void Worker::begin_drain() {
  draining_ = true;
  for (auto& [key, link] : accepted_) link->begin_drain();
}

bool Worker::drained() const {
  const auto quiet = [](const auto& entry) { return entry.second->drained(); };
  return draining_ && std::ranges::all_of(accepted_, quiet) && all_sent() &&
         std::ranges::all_of(connections_, [](const auto& c) { return c.second->idle(); });
}

bool Worker::all_sent() const {
  return std::ranges::all_of(peers_, [](const auto& entry) { return entry.second.all_sent(); }) &&
         std::ranges::all_of(leaving_, [](const auto& node) { return node.mapped().all_sent(); });
}

// --- To the successor ---

void Worker::begin_hand_over(std::shared_ptr<Successor> successor) {
  successor_ = std::move(successor);
  for (auto& [key, link] : accepted_) link->leave();
}

void Worker::end_hand_over() {
  successor_.reset();
  // The list is copied, because on_successor_gone() of one connection can close other connections.
  std::vector<ClientConnection*> waiting;
  for (const auto& [key, connection] : connections_) waiting.push_back(connection.get());
  for (ClientConnection* connection : waiting) {
    if (connections_.contains(connection)) connection->on_successor_gone();
  }
}

bool Worker::peers_turned() const {
  return std::ranges::all_of(accepted_,
                             [](const auto& entry) { return entry.second->peer_turned(); });
}

bool Worker::handed_over() const { return connections_.empty() && accepted_.empty() && all_sent(); }

void Worker::hand_over_clients() {
  constexpr Duration kSpaceAgain = std::chrono::milliseconds(1);
  // The list is copied, because hand_over() of one connection can close other connections.
  std::vector<ClientConnection*> all;
  for (const auto& [key, connection] : connections_) all.push_back(connection.get());
  for (ClientConnection* connection : all) {
    if (!connections_.contains(connection) || connection->hand_over(*successor_)) continue;
    next_iteration_->set(reactor_.now() + kSpaceAgain);
    return;
  }
}

// Begins moves that had to wait because kMovesMax moves were running. Covers only clients with a
// stream to a peer that is shutting down: their connections to servers move to new streams.
void Worker::move_more() {
  for (auto& node : leaving_) {
    for (ClientConnection* connection : node.mapped().connections()) connection->detach_if_due();
  }
}

void Worker::on_iteration_end() {
  counters().iterations.add();
  if (setup_.rdma != nullptr) {
    Counter& bytes = counters().rdma.registered_bytes;
    bytes.add(setup_.rdma->registered_bytes() - bytes.value());
  }
  if (std::exchange(moves_.ended, false)) move_more();
  if (successor_) hand_over_clients();
  flush();
  // Flushes again if an event has let streams send frames, because the event can have come during
  // flush(), when the lane that takes these frames was already flushed.
  if (std::exchange(flush_again_, false) || !deferred_->empty()) flush();
  if (moves_.ended || flush_again_) next_iteration_->set(reactor_.now());
}

void Worker::flush() {
  while (!deferred_->empty()) std::exchange(deferred_, std::make_unique<Deferred>()).reset();
  for (auto& [name, peer] : peers_) peer.flush();
  for (auto next = leaving_.begin(); next != leaving_.end();) (next++)->mapped().flush();
  for (auto next = accepted_.begin(); next != accepted_.end();) {
    AcceptedLink& link = *(next++)->second;  // flush() removes a link from the map if a write fails
    link.flush();
  }
}

}  // namespace hat
