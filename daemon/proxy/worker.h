// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/worker.h: one event loop and the objects that use it: client connections, links to
// peers, links from peers and upstream connections.
//
// No other worker uses these objects, so they need no locks. A worker calls its reactor and never
// the kernel, so the simulation (tests/sim) can run several workers in one thread.
//
// Thread   Only the reactor's thread uses this class.
#pragma once

#include <array>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/line_budget.h"
#include "base/reactor.h"
#include "config/node.h"
#include "daemon/metrics/access_log.h"
#include "daemon/metrics/counters.h"
#include "daemon/metrics/slow_calls.h"
#include "daemon/metrics/spans.h"
#include "daemon/proxy/call.h"
#include "daemon/proxy/configured.h"
#include "daemon/proxy/deadlines.h"
#include "daemon/proxy/inbound/accepted_link.h"
#include "daemon/proxy/inbound/peer_share.h"
#include "daemon/proxy/inbound/server_stream.h"
#include "daemon/proxy/inbound/upstream.h"
#include "daemon/proxy/outbound/client_connection.h"
#include "daemon/proxy/outbound/peer_choice.h"
#include "daemon/proxy/outbound/peer_link.h"
#include "daemon/proxy/outbound/retry_budget.h"
#include "daemon/proxy/successor.h"
#include "daemon/routing/routing_table.h"
#include "engine/link/link.h"

namespace hat {

struct AvoidedPeer;
struct ConnectionList;
struct PeerList;
struct UnansweredList;
struct WayList;

// The state of one link of a worker, for hatctl and for the readiness check.
struct LinkStatus {
  std::string peer;
  std::string address;
  engine::LinkState state = engine::LinkState::kIdle;
  std::string last_error;
  uint64_t sessions = 0;
  std::vector<LaneStatus> lanes;
  // The names in the peer's certificate; empty without TLS, or while the link is down.
  std::vector<std::string> peer_names;
  // The cores of the peer's host; nullopt while the link is down, or if the peer does not send
  // them.
  std::optional<engine::CoreCounts> cores;
  uint32_t legs = 0;     // the legs that both daemons can perform; 0 if there can be no RDMA lanes
  std::string node;      // the name of the peer's node; empty while the link is down
  bool is_slow = false;  // clients of an endpoint prefer other peers (peer_speeds.h)
};

class Worker final : public IterationEvents {
 public:
  struct Setup {
    size_t index = 0;
    uint64_t generation = 0;  // identifies this process in the hello that peers get
    uint32_t seed = 1;        // seeds random pauses before reconnecting, and random sequence ids
    std::shared_ptr<const NodeConfig> node;
    std::shared_ptr<const RoutingTable> routes;
    // Outlives the worker; null: no peer can calibrate with this node.
    engine::CostAnswerer* answerer = nullptr;
    WorkerCounters* counters = nullptr;       // outlives the worker
    AccessLog* access_log = nullptr;          // outlives the worker; null: there is none
    DetachedConnections* detached = nullptr;  // outlives the worker
    Spans* spans = nullptr;                   // outlives the worker; null: calls get no spans
    engine::RdmaHost* rdma = nullptr;         // outlives the worker; null: only TCP lanes
    engine::Seal* seal = nullptr;             // outlives the worker; null: links without TLS
    std::shared_ptr<const LearnedChoices> kept = nullptr;  // see set_kept(); null: none
    // Makes the links at the start and keeps them up. Otherwise a link is made when a client needs
    // it, and ends when no client has needed it for limits.link_idle, unless this is 0.
    bool keeps_links = true;
  };

  Worker(Reactor& reactor, Setup setup);
  ~Worker() override;

  // Accepts the connection of a local client at the endpoint with the number `endpoint`.
  void accept_client(size_t endpoint, const ListenerEvents::Accept& accept);
  // Accepts the connection of a peer daemon that opens a link.
  void accept_link(const ListenerEvents::Accept& accept);
  // Continues a client connection of the predecessor, the earlier hatrpcd of this node. The
  // predecessor has read the bytes `read`, and no call has used them. `server` is the connection to
  // the server that a peer keeps for this client, or null if there is none.
  void take_over_client(size_t endpoint, const ListenerEvents::Accept& accept, engine::Bytes read,
                        const KeptServer* server);

  // Replaces the routes. Calls that begin from now on use the new routes.
  void set_routes(std::shared_ptr<const RoutingTable> routes);
  // Replaces the node's configuration, and the routes that follow from it: `routes` must have every
  // service and upstream of this and of earlier configurations. Only the peers, endpoints, served
  // services, limits, the access log and the TLS names of peers may differ from the configuration
  // before. Ends no connection. A client connection keeps its endpoint; a client connection with
  // its own connection to a server also keeps its peer and that server. Changed limits of a link's
  // session apply to sessions that begin later.
  void set_node(std::shared_ptr<const NodeConfig> node, std::shared_ptr<const RoutingTable> routes);

  // Begins to drain: asks the peers (frame kGoAway) to begin no more calls, and answers new calls
  // of local clients with the failure `draining`. Calls in flight continue.
  void begin_drain();
  // Returns true if begin_drain() was called, no call is in flight, and all frames were sent.
  bool drained() const;

  // Begins a takeover: hands each client connection over to `successor` as soon as no call is in
  // flight on the connection, and asks the peers (frame kGoAway) to open their new streams at the
  // successor. A connection that the successor does not take continues in this process.
  void begin_hand_over(std::shared_ptr<Successor> successor);
  // Ends a takeover whose successor is gone: the remaining connections continue in this process.
  void end_hand_over();
  // Returns true if every peer that has opened a link to this worker has agreed to open no more
  // streams on this link, or the link is down.
  bool peers_turned() const;
  // Returns true if no client connection and no link from a peer is left in this worker, and all
  // frames were sent.
  bool handed_over() const;

  std::vector<LinkStatus> link_status() const;
  // --- Reports for hatctl; in worker_status.cc ---
  // Returns a report for each of the first `most` peers of the configuration, in its order.
  PeerList peer_status(size_t most = SIZE_MAX) const;
  // Returns the peers of the configuration at which calls failed, or whose calls take much longer
  // than those at other peers, by endpoint.
  std::vector<AvoidedPeer> avoided_peers() const;
  // Returns the connections of clients that come first in `order`, at most `most`. The cost is
  // about 0.2 µs for each connection, and 1 µs for each one in the list.
  ConnectionList connection_status(ConnectionOrder order, size_t most) const;
  // Returns the calls of clients that wait for their replies, the oldest ones first; `most` reports
  // at most. The cost is as for connection_status(); calls themselves cost nothing more.
  UnansweredList unanswered_calls(size_t most) const;
  // Returns for each endpoint of the service and each of its peers how a call of the function would
  // reach it now; the first `most` of them.
  WayList ways_of(std::string_view service, std::string_view method, size_t most = SIZE_MAX) const;

  // Sets what an earlier process has learned about functions with the hint `plan: learned`. Has no
  // effect on functions that this worker's clients have called before.
  void set_kept(std::shared_ptr<const LearnedChoices> kept);
  // Returns what was learned about functions with the hint `plan: learned`.
  std::vector<LearnedStatus> learned_status() const;

  // Returns the slowest calls of this worker's clients in the last minutes.
  std::vector<CallRecord> slowest_calls() const { return slow_calls_.all(reactor_.now()); }

  // Opens a calibration session in which the peer daemon answers this side's measurements. Returns
  // an error if the link to the peer is down, or if the peer cannot calibrate; `job` receives every
  // later error.
  Result<void> calibrate(const std::string& peer, const engine::CostOpen& open,
                         std::shared_ptr<engine::CalibrationJob> job);

  // --- For connections, streams and upstream connections ---
  Reactor& reactor() { return reactor_; }
  const NodeConfig& node() const { return *setup_.node; }
  const RoutingTable& routes() const { return *routes_; }
  WorkerCounters& counters() { return *setup_.counters; }
  size_t index() const { return setup_.index; }
  Deadlines& deadlines() { return deadlines_; }
  CallPool& calls() { return reused_.calls; }
  RetryBudget& retries() { return retries_; }
  FrameBuffers& frame_buffers() { return reused_.frames; }
  SlowCalls& slow_calls() { return slow_calls_; }
  AccessLog* access_log() { return setup_.access_log; }
  Spans* spans() { return setup_.spans; }  // null: calls get no spans
  UpstreamPool& upstreams() { return upstreams_; }
  DetachedConnections& detached() { return *setup_.detached; }
  // Returns true if the node has an endpoint with the address and the service of this one.
  bool offers(const EndpointConfig& endpoint) const;
  // Returns the service with this name that the node serves, or else kAnyService; null if it
  // serves neither.
  std::shared_ptr<const Served> find_served(std::string_view service) const;
  std::span<std::byte> scratch() { return scratch_; }
  bool draining() const { return draining_; }
  // Returns the successor, or null if no takeover is under way.
  const Successor* successor() const { return successor_.get(); }
  // Returns true if this worker drains and no successor continues its connections.
  bool leaves_for_good() const { return draining_ && !successor_; }

  // Returns true if the configuration has a peer with this name.
  bool has_peer(const std::string& name) const { return peers_.contains(name); }
  using PeerNames = std::span<const std::string>;
  // Returns a link to one of `peers`, the peers of `endpoint`, that can carry new calls. Prefers
  // peers that are not ejected, then those in the node's zone. Then calls leave_out_slow(), and
  // chooses among the rest by PeerChoice. Returns null if there is none, or, with kAwait, while a
  // link that is preferred at least as much is in its first attempt to connect, but only for
  // kFirstAttemptWait or half of limits.peer_wait. Lets idle links connect; if none is usable, all.
  static constexpr Duration kFirstAttemptWait = std::chrono::milliseconds(50);
  PeerLink* choose_peer(PeerNames peers, Endpoint& endpoint, FirstAttempts first_attempts);
  // Returns the link for the next call of a client of `endpoint` that may use any of its peers: of
  // two random peers the one with fewer unanswered calls for its weight, or choose_peer() if this
  // can be wrong because peers fail or are slow. Returns null if no peer serves calls.
  PeerLink* choose_for_call(Endpoint& endpoint);
  // Returns true if a peer in `peers` other than that of `link` is not avoided by calls of
  // `endpoint`, and its link can carry calls, or begins to connect now because it was idle.
  bool has_other_peer(const PeerLink& link, PeerNames peers, const Endpoint& endpoint);
  // Returns true if `link` can carry calls, and calls of `endpoint` do not avoid its peer.
  bool serves_calls(const PeerLink& link, const Endpoint& endpoint) const;
  // Returns true if none of `peers` can be reached: each link has been down for longer than
  // limits.peer_wait, and an attempt to connect that began at or after `since` has failed.
  bool peers_hopeless(PeerNames peers, TimePoint since) const;
  // Returns a text with the address and the last error of the link to each of `peers`.
  std::string peer_errors(PeerNames peers) const;
  // Registers a client connection that waits for a link, and returns a ticket for stop_waiting().
  // on_link_news() notifies the connections in the order in which they began to wait.
  uint64_t start_waiting(ClientConnection& connection) {
    waiting_.clients.emplace(++waiting_.last_ticket, &connection);
    return waiting_.last_ticket;
  }
  // Removes the client connection that got this ticket from start_waiting().
  void stop_waiting(uint64_t ticket) { waiting_.clients.erase(ticket); }

  // Notifies the client connections that wait for a link, because a link came up or an attempt to
  // connect failed.
  void on_link_news();
  // Makes a new link to the peer of the link `peer`, because the peer's process is shutting down.
  // The new link connects to that process's successor. Calls that begin from now on use the new
  // link, and need not wait for the calls on the old link.
  void replace(PeerLink& peer);

  // Counts a move: a client connection's connection to the server goes from one stream to another.
  // Returns false, and counts nothing, if kMovesMax moves are running. Moves are limited because a
  // peer keeps the connection to the server only for a short time between two streams. When a move
  // has ended, the worker calls ClientConnection::detach_if_due() of the connections that wait.
  bool begin_move() { return moves_.running < kMovesMax && (++moves_.running, true); }
  // Counts a move that the predecessor began, whatever the number of running moves.
  void add_move() { ++moves_.running; }
  // Counts the end of a move.
  void end_move() {
    --moves_.running;
    moves_.ended = true;
  }

  // --- For links from peers ---
  PeerShares& peer_shares() { return peer_shares_; }  // how much of the limits each peer uses
  LineBudget& link_lines() { return link_lines_; }
  engine::RdmaHost* rdma() { return setup_.rdma; }
  engine::CostAnswerer* answerer() { return setup_.answerer; }

  // Adds `change` bytes, which may be negative, to the bytes that count towards
  // limits.max_buffered.
  void buffered(int64_t change);
  // Adds `change` bytes, which may be negative, to the bytes that count towards
  // limits.max_buffered, and to the part of them that is held for this peer.
  void buffered(int64_t change, PeerShare& peer);
  // Returns true if limits.max_buffered is exceeded.
  bool over_buffer_limit() const { return buffered_bytes_ > node().limits.buffered_bytes_max; }
  // Returns true if limits.max_buffered, or this peer's quarter of it, is exceeded.
  bool over_buffer_limit(const PeerShare& peer) const {
    const uint64_t max = node().limits.buffered_bytes_max;
    return over_buffer_limit() || peer.buffered_bytes > max / PeerShare::kPart;
  }

  // Returns true if less than half of limits.max_buffered is used, so that there is space for
  // copies that calls do not need.
  bool has_space_for_copies() const {
    return buffered_bytes_ < node().limits.buffered_bytes_max / 2;
  }

  // Makes the worker poll for a while instead of sleeping, because a part of a call has arrived.
  // `polling`, the polling mode of the call's plan, determines for how long.
  void keep_polling(Polling polling);

  // Deletes the object at the end of the iteration, when no function of the object can be running.
  void defer_delete(ClientConnection& connection);
  void defer_delete(std::unique_ptr<UpstreamConnection> upstream);
  void defer_delete(std::unique_ptr<engine::Session> session);
  void defer_delete(std::unique_ptr<PeerLanes> lanes);
  void defer_delete(std::unique_ptr<engine::CalibrationSession> costs);
  void defer_delete(PeerLink& replaced);
  void defer_delete(AcceptedLink& link);
  void defer_delete(std::unique_ptr<ServerStream> stream);
  // Sends the frames of all lanes once more in this iteration. Call this from an event of a lane
  // that lets a stream send, because the stream can use a lane that was flushed before.
  void flush_again() { flush_again_ = true; }

 private:
  static constexpr size_t kMovesMax = 64;

  void make_room_for_a_link();
  void set_local(const NodeConfig& node);
  void set_peers(const std::vector<PeerConfig>& before);

  ClientConnection& add_client(const std::shared_ptr<Endpoint>& endpoint,
                               const ListenerEvents::Accept& accept);
  void hand_over_clients();
  void move_more();
  bool all_sent() const;
  PeerLink& make_link(const PeerConfig& peer);
  void on_iteration_end() override;
  void flush();
  // The lists are used only by choose_peer(). They keep their memory, so that it allocates none.
  struct Choosing {
    PeerChoice choice;
    std::vector<PeerCandidate> candidates;  // peers whose links can carry new calls
    // Notifies the clients that wait although a link is up, because other links may come up soon.
    std::unique_ptr<Timer> decide;
    TimePoint decide_at{};  // the time of `decide`, which has passed if none is set
  };
  bool ends_idle_links() const;
  void end_idle_links();
  void end_idle_link(PeerLink& peer);
  PeerLink& put_in_place_of(PeerLink& old);
  const WeightedPeers& links_of(Endpoint& endpoint);
  TimePoint awaited_until(const PeerLink& link) const;
  // Returns how much a peer is preferred; peers of the highest rank share new connections.
  static int rank_of(bool is_avoided, bool is_near, bool is_slow) {
    return (is_avoided ? 0 : 4) + (is_near ? 2 : 0) + (is_slow ? 0 : 1);
  }
  // Returns why the link to a peer of the configuration is down.
  static const std::string& error_of(const PeerConfig& peer, const PeerLink& link);
  engine::SessionOptions session_options() const;  // for links from peers
  engine::SessionOptions session_options(const PeerConfig& peer) const;

  struct Deferred;  // objects that are deleted at the end of the iteration
  // Moves of connections to servers between streams, in a takeover.
  struct Moves {
    size_t running = 0;
    bool ended = false;  // a move ended in this iteration, so another move can begin
  };

  Reactor& reactor_;
  Setup setup_;
  std::shared_ptr<const RoutingTable> routes_;
  bool flush_again_ = false;
  std::array<std::byte, engine::kPieceBytesMax> scratch_;
  struct {
    CallPool calls;
    FrameBuffers frames;
  } reused_;  // memory for calls; outlives the clients' connections
  RetryBudget retries_;
  SlowCalls slow_calls_;
  Deadlines deadlines_;
  UpstreamPool upstreams_;
  bool draining_ = false;
  uint64_t buffered_bytes_ = 0;
  LineBudget link_lines_;  // limits the log lines about links that peers open and close
  PeerShares peer_shares_;
  Choosing choosing_;
  Moves moves_;
  // The part of the configuration about this host's clients and servers.
  struct Local {
    ConfiguredList<Endpoint> endpoints;
    ConfiguredList<Served> served;
  } local_;

  std::unique_ptr<Deferred> deferred_;
  // Starts one more iteration, at whose end the worker retries a hand-over for which the channel to
  // the successor had no space, or begins moves that had to wait.
  std::unique_ptr<Timer> next_iteration_;
  std::unique_ptr<Timer> idle_check_;  // calls end_idle_links()
  using Peers = std::unordered_map<std::string, PeerLink>;
  Peers peers_;  // exactly one link for each configured peer, by the peer's name
  // The old links to peers that are shutting down, those that a reload has retired, and those that
  // no client needs. Calls in flight on these links continue; new calls use the links in peers_.
  std::list<Peers::node_type> leaving_;
  uint32_t links_made_ = 0;
  uint64_t links_version_ = 1;  // Endpoint::links_version of a list that is up to date
  std::unordered_map<const AcceptedLink*, std::unique_ptr<AcceptedLink>> accepted_;
  std::unordered_map<const ClientConnection*, std::unique_ptr<ClientConnection>> connections_;
  // The clients that wait for a link, by their tickets.
  struct Waiting {
    std::map<uint64_t, ClientConnection*> clients;
    uint64_t last_ticket = 0;
  } waiting_;
  std::shared_ptr<Successor> successor_;
};

}  // namespace hat
