// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/worker.h: one event loop and the objects on it: client connections, links to peers,
// links from peers and upstream connections.
//
// A worker shares none of these objects, so they need no locks. A worker uses its reactor and never
// the kernel, so the simulation (tests/sim) runs several workers in one thread.
//
// Thread   the reactor's, all of it.
#pragma once

#include <array>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/line_budget.h"
#include "base/reactor.h"
#include "config/node.h"
#include "daemon/metrics/counters.h"
#include "daemon/proxy/call.h"
#include "daemon/proxy/deadlines.h"
#include "daemon/proxy/inbound/accepted_link.h"
#include "daemon/proxy/inbound/peer_share.h"
#include "daemon/proxy/inbound/server_stream.h"
#include "daemon/proxy/inbound/upstream.h"
#include "daemon/proxy/outbound/client_connection.h"
#include "daemon/proxy/outbound/peer_link.h"
#include "daemon/proxy/successor.h"
#include "daemon/routing/routing_table.h"
#include "engine/link/link.h"

namespace hat {

// The state of one link of a worker, for hatctl and for the readiness check.
struct LinkStatus {
  std::string peer;
  std::string address;
  bool up = false;
  bool tried = false;  // the first attempt to connect has ended
  std::string last_error;
  uint64_t sessions = 0;
  std::vector<LaneStatus> lanes;
  std::vector<std::string> peer_names;  // proved by the peer's certificate; may be empty
};

class Worker final : public IterationEvents {
 public:
  struct Setup {
    size_t index = 0;
    uint64_t generation = 0;  // of this process; sent to peers
    uint32_t seed = 1;        // for jitter
    std::shared_ptr<const NodeConfig> node;
    std::shared_ptr<const RoutingTable> routes;
    engine::CostAnswerer* answerer = nullptr;  // outlives the worker; null if `rdma` is null
    WorkerCounters* counters = nullptr;        // outlives the worker
    DetachedConnections* detached = nullptr;   // outlives the worker
    engine::RdmaHost* rdma = nullptr;          // outlives the worker; null: only TCP lanes
    engine::Seal* seal = nullptr;              // outlives the worker; null: links without TLS
  };

  Worker(Reactor& reactor, Setup setup);
  ~Worker() override;

  // Accepts the connection of a local client, or of a peer daemon that opens a link.
  void accept_client(size_t endpoint, const ListenerEvents::Accept& accept);
  void accept_link(const ListenerEvents::Accept& accept);
  // Continues a client connection that another process accepted. That process has read the bytes
  // `read` and used none of them. `server` is the connection to the client's server that a peer
  // keeps, or null if there is none.
  void take_over_client(size_t endpoint, const ListenerEvents::Accept& accept, engine::Bytes read,
                        const KeptServer* server);

  // Replaces the routes, from the next call on.
  void set_routes(std::shared_ptr<const RoutingTable> routes);

  // Sends kGoAway to the peers and answers new calls with `draining`; calls in flight continue.
  void begin_drain();
  // Returns true after begin_drain() when nothing is in flight any more.
  bool drained() const;

  // Hands each client connection over to `successor` as soon as no call is in flight on it, and
  // makes the peers open their new streams at the successor. A connection that the successor does
  // not take continues here.
  void begin_hand_over(std::shared_ptr<Successor> successor);
  // Ends the hand-over, because the successor is gone: the remaining connections continue here.
  void end_hand_over();
  // Returns true after begin_hand_over() when no peer opens a stream here any more.
  bool peers_turned() const;
  // Returns true after begin_hand_over() when no connection and no link from a peer is left here
  // and all frames were sent.
  bool handed_over() const;

  std::vector<LinkStatus> link_status() const;

  // Opens a calibration session in which the peer answers this side's measurements. Returns an
  // error if the session cannot be opened; `job` gets every later error.
  Result<void> calibrate(const std::string& peer, const engine::CostOpen& open,
                         std::shared_ptr<engine::CalibrationJob> job);

  // Accessors for connections, streams and upstream connections.
  Reactor& reactor() { return reactor_; }
  const NodeConfig& node() const { return *setup_.node; }
  const RoutingTable& routes() const { return *routes_; }
  WorkerCounters& counters() { return *setup_.counters; }
  size_t index() const { return setup_.index; }
  Deadlines& deadlines() { return deadlines_; }
  CallPool& calls() { return calls_; }
  UpstreamPool& upstreams() { return upstreams_; }
  DetachedConnections& detached() { return *setup_.detached; }
  std::span<std::byte> scratch() { return scratch_; }
  bool draining() const { return draining_; }
  const Successor* successor() const { return successor_.get(); }  // null: none
  bool leaves_for_good() const { return draining_ && !successor_; }

  bool has_peer(const std::string& name) const { return peers_.contains(name); }
  using PeerNames = std::span<const std::string>;
  // Returns one of `peers` that takes calls now, each in turn. If none does, makes the links to all
  // of them connect, and returns nullptr.
  PeerLink* choose_peer(PeerNames peers);
  // Returns true if none of `peers` can be reached: each link has been down for longer than
  // limits.peer_wait, and an attempt that it began at or after `since` has failed.
  bool peers_hopeless(PeerNames peers, TimePoint since) const;
  std::string peer_errors(PeerNames peers) const;
  // Registers a connection that waits for a link, and returns a ticket that ends the wait. The
  // connection that has waited longest is notified first.
  uint64_t start_waiting(ClientConnection& connection) {
    waiting_.emplace(++last_ticket_, &connection);
    return last_ticket_;
  }
  void stop_waiting(uint64_t ticket) { waiting_.erase(ticket); }

  // Calls the connections that wait for a link: one is up, or an attempt has failed.
  void on_link_news();
  // Makes a new link to the same peer beside `peer`, whose hatrpcd is shutting down. That process
  // has a successor, or will have one. Calls that begin from now on use the new link, which leads
  // to the successor, and need not wait for the last call on the old link.
  void replace(PeerLink& peer);

  // Counts the client connections whose connection to the server is between two streams. Their
  // number is bounded, because the peer keeps a detached connection only for a limited time.
  // Returns false if too many are moving; the worker calls detach_if_due() again when a move has
  // ended.
  bool begin_move() { return moves_ < kMovesMax && (++moves_, true); }
  void add_move() { ++moves_; }  // a move that another process began
  void end_move() {
    --moves_;
    move_ended_ = true;
  }

  // Accessors for links from peers.
  PeerShares& peer_shares() { return peer_shares_; }  // the peers' shares of the limits
  LineBudget& link_lines() { return link_lines_; }
  engine::RdmaHost* rdma() { return setup_.rdma; }
  engine::CostAnswerer* answerer() { return setup_.answerer; }

  // Counts bytes that are held for slow readers towards limits.max_buffered, and towards the share
  // of the peer that they are held for.
  void buffered(int64_t change);
  void buffered(int64_t change, PeerShare& peer);
  bool over_buffer_limit() const { return buffered_bytes_ > node().limits.buffered_bytes_max; }
  bool over_buffer_limit(const PeerShare& peer) const {
    const uint64_t max = node().limits.buffered_bytes_max;
    return over_buffer_limit() || peer.buffered_bytes > max / PeerShare::kPart;
  }

  // Keeps the worker polling after a part of a call arrived. The polling mode of the call's plan
  // says for how long.
  void keep_polling(Polling polling);

  // Defers the deletion of the object to the end of the iteration, when none of its events can be
  // running.
  void defer_delete(ClientConnection& connection);
  void defer_delete(std::unique_ptr<UpstreamConnection> upstream);
  void defer_delete(std::unique_ptr<engine::Session> session);
  void defer_delete(std::unique_ptr<PeerLanes> lanes);
  void defer_delete(std::unique_ptr<engine::CalibrationSession> costs);
  void defer_delete(PeerLink& replaced);
  void defer_delete(AcceptedLink& link);
  void defer_delete(std::unique_ptr<ServerStream> stream);

 private:
  static constexpr size_t kMovesMax = 64;

  void make_room_for_a_link();

  ClientConnection& add_client(size_t endpoint, const ListenerEvents::Accept& accept);
  void hand_over_clients();
  void move_more();
  bool all_sent() const;
  PeerLink& make_link(const PeerConfig& peer);
  void on_iteration_end() override;
  void flush();
  engine::SessionOptions session_options(std::string peer) const;

  struct Deferred;  // objects that are deleted at the end of the iteration

  Reactor& reactor_;
  Setup setup_;
  std::shared_ptr<const RoutingTable> routes_;
  std::array<std::byte, engine::kPieceBytesMax> scratch_;
  CallPool calls_;
  Deadlines deadlines_;
  UpstreamPool upstreams_;
  bool draining_ = false;
  uint64_t buffered_bytes_ = 0;
  LineBudget link_lines_;  // for log lines about links that peers open and close
  PeerShares peer_shares_;
  size_t next_peer_ = 0;
  size_t moves_ = 0;
  bool move_ended_ = false;  // a move ended in this iteration, so another may begin
  std::vector<size_t> connections_per_endpoint_;

  std::unique_ptr<Deferred> deferred_;
  // Starts another iteration, at whose end the worker retries what could not be done for lack of
  // space.
  std::unique_ptr<Timer> next_iteration_;
  using Peers = std::unordered_map<std::string, PeerLink>;
  Peers peers_;  // by name: exactly one for each configured peer
  // Links to peers that are leaving. Calls in flight on them continue; new calls use the links in
  // peers_.
  std::list<Peers::node_type> leaving_;
  uint32_t links_made_ = 0;
  std::unordered_map<const AcceptedLink*, std::unique_ptr<AcceptedLink>> accepted_;
  std::unordered_map<const ClientConnection*, std::unique_ptr<ClientConnection>> connections_;
  std::map<uint64_t, ClientConnection*> waiting_;
  uint64_t last_ticket_ = 0;
  std::shared_ptr<Successor> successor_;
};

}  // namespace hat
