// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/worker.h: one event loop and all that lives on it: client connections, links to
// peers, links from peers, upstream connections. Nothing of it is shared, so nothing is locked.
//
// A worker knows its reactor and no kernel: the simulation (tests/sim) runs several in one thread.
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

// What a worker says of its links, for hatctl and readiness.
struct LinkStatus {
  std::string peer;
  std::string address;
  bool up = false;
  std::string last_error;
  uint64_t sessions = 0;
  std::vector<LaneStatus> lanes;
  std::vector<std::string> peer_names;  // what the peer's certificate proves; empty: nothing
};

class Worker final : public engine::LinkEvents, public engine::SessionEvents, public TurnEvents {
 public:
  struct Setup {
    size_t index = 0;
    uint64_t generation = 0;  // of the process, told to peers
    uint32_t seed = 1;        // for jitter
    std::shared_ptr<const NodeConfig> node;
    std::shared_ptr<const RoutingTable> routes;
    engine::CostAnswerer* answerer = nullptr;  // outlives the worker; null where `rdma` is
    WorkerCounters* counters = nullptr;        // outlives the worker
    DetachedConnections* detached = nullptr;   // outlives the worker
    engine::RdmaHost* rdma = nullptr;          // outlives the worker; null: TCP lanes alone
    engine::Seal* seal = nullptr;              // outlives the worker; null: links are open
  };

  Worker(Reactor& reactor, Setup setup);
  ~Worker() override;

  // A local client, or a peer daemon, has connected.
  void accept_client(size_t endpoint, const ListenerEvents::Accept& accept);
  void accept_link(const ListenerEvents::Accept& accept);
  // One that another process accepted, which has read `read` of it and used none.
  // `server`: the connection to its server that a peer keeps; null: there is none.
  void take_over_client(size_t endpoint, const ListenerEvents::Accept& accept, engine::Bytes read,
                        const KeptServer* server);

  // From the next call on.
  void set_routes(std::shared_ptr<const RoutingTable> routes);

  // Tells peers and answers new calls with `draining`; what is in flight goes on.
  void begin_drain();
  // After begin_drain(): nothing is in flight.
  bool drained() const;

  // Gives client connections to `successor`, each as soon as no call is out on it, and has peers
  // turn to it. What it does not take goes on here.
  void begin_hand_over(std::shared_ptr<Successor> successor);
  // It is gone: nothing more goes there.
  void end_hand_over();
  // After begin_hand_over(): no peer opens a stream here any more.
  bool peers_turned() const;
  // After begin_hand_over(): nobody is here any more.
  bool handed_over() const;

  std::vector<LinkStatus> link_status() const;

  // Has the peer answer who measures. Errors: it cannot, and why; later ones come by the job.
  Result<void> calibrate(const std::string& peer, const engine::CostOpen& open,
                         std::shared_ptr<engine::CostJob> job);

  // For connections, streams and upstreams.
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
  // One of these peers that takes calls now, in turn; nullptr where none does, and then all of them
  // are told to connect.
  PeerLink* choose_peer(PeerNames peers);
  // True where none of these peers can be had: each failed an attempt made since `since`, after
  // being down for longer than limits.peer_wait.
  bool peers_hopeless(PeerNames peers, TimePoint since) const;
  std::string peer_errors(PeerNames peers) const;
  // Who waits longest hears first. The ticket ends the wait.
  uint64_t start_waiting(ClientConnection& connection) {
    waiting_.emplace(++last_ticket_, &connection);
    return last_ticket_;
  }
  void stop_waiting(uint64_t ticket) { waiting_.erase(ticket); }

  // Client connections whose connection to the server is between two streams now. They are few at a
  // time, since the peer keeps it for so long only. False: there are too many; detach_if_due() will
  // be called again.
  bool begin_move() { return moves_ < kMovesMax && (++moves_, true); }
  void add_move() { ++moves_; }  // one that another process has begun
  void end_move() {
    --moves_;
    move_ended_ = true;
  }

  // What peers have of the limits.
  PeerShares& peer_shares() { return peer_shares_; }

  // Bytes held for slow readers, against limits.max_buffered; with the peer that they are for.
  void buffered(int64_t change);
  void buffered(int64_t change, PeerShare& peer);
  bool over_buffer_limit() const { return buffered_bytes_ > node().limits.buffered_bytes_max; }
  bool over_buffer_limit(const PeerShare& peer) const {
    const uint64_t max = node().limits.buffered_bytes_max;
    return over_buffer_limit() || peer.buffered_bytes > max / PeerShare::kPart;
  }

  // Some of a call came: its plan's polling says how long to look for more before sleeping.
  void look_for_more(Polling polling);

  // Ends the object at the end of the turn, when no event of it can be running.
  void bury(ClientConnection& connection);
  void bury(std::unique_ptr<UpstreamConnection> upstream);
  void bury(std::unique_ptr<engine::Session> session) override;
  void bury(AcceptedLink& link, uint32_t stream);

 private:
  static constexpr size_t kMovesMax = 64;

  void on_link_up(engine::Link& link) override;
  void on_link_frame(engine::Link& link, const engine::FrameHeader& header,
                     engine::Bytes payload) override;
  void on_link_uncongested(engine::Link& link) override;
  void on_link_going_away(engine::Link& link) override;
  void on_link_down(engine::Link& link, bool was_up, const std::string& reason) override;

  void log_link(const engine::Session& session, const std::string& what);
  Result<void> on_hello(engine::Session& session) override;
  void on_session_up(engine::Session& session) override;
  void on_frame(engine::Session& session, const engine::FrameHeader& header,
                engine::Bytes payload) override;
  void on_uncongested(engine::Session& session) override;
  void on_session_down(engine::Session& session, const std::string& reason) override;
  void make_room_for_a_link();

  ClientConnection& add_client(size_t endpoint, const ListenerEvents::Accept& accept);
  void hand_over_clients();
  void move_more();
  bool all_sent() const;
  PeerLink& make_link(const PeerConfig& peer);
  void replace(PeerLink& peer);
  void on_turn_end() override;
  void flush();
  void tell_waiting();
  PeerLink& peer_of(const engine::Link& link);
  engine::SessionOptions session_options(std::string peer) const;

  struct Grave;  // what ends with the turn

  Reactor& reactor_;
  Setup setup_;
  std::shared_ptr<const RoutingTable> routes_;
  std::array<std::byte, engine::kPieceBytesMax> scratch_;
  CallPool calls_;
  Deadlines deadlines_;
  UpstreamPool upstreams_;
  bool draining_ = false;
  uint64_t buffered_bytes_ = 0;
  LineBudget link_lines_;  // of links that peers open and close
  PeerShares peer_shares_;
  size_t next_peer_ = 0;
  size_t moves_ = 0;
  bool move_ended_ = false;  // in this turn: others may begin
  std::vector<size_t> connections_per_endpoint_;

  std::unique_ptr<Grave> grave_;
  std::unique_ptr<Timer> next_turn_;  // at whose end what had no room is tried again
  using Peers = std::unordered_map<std::string, PeerLink>;
  Peers peers_;  // by name: always one for each
  // To peers that leave: calls that are out on them go on, new ones go by those above.
  std::list<Peers::node_type> leaving_;
  uint32_t links_made_ = 0;
  std::unordered_map<const engine::Session*, std::unique_ptr<AcceptedLink>> accepted_;
  std::unordered_map<const ClientConnection*, std::unique_ptr<ClientConnection>> connections_;
  std::map<uint64_t, ClientConnection*> waiting_;
  uint64_t last_ticket_ = 0;
  std::shared_ptr<Successor> successor_;
};

}  // namespace hat
