// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/inbound/server_stream.h: one stream from a peer daemon: its requests go to the local
// server, in order, and the replies go back.
//
// They go by a connection of the stream's own, or, of a service in mode `shared`, by one that many
// share (daemon/proxy/inbound/pooled_call.h), each request whole. There, too, the stream takes one
// of its own for what may not share: calls of functions that no manifest lists, requests that pass
// limits.shared_request, and bytes that are no calls. While it has one, all goes by that, in order;
// it closes it once all calls are answered.
//
// Thread   the worker's.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/byte_queue.h"
#include "base/fifo.h"
#include "config/hints.h"
#include "config/node.h"
#include "daemon/metrics/counters.h"
#include "daemon/proxy/call.h"
#include "daemon/proxy/deadlines.h"
#include "daemon/proxy/inbound/peer_share.h"
#include "daemon/proxy/inbound/pooled_call.h"
#include "daemon/proxy/inbound/upstream.h"
#include "daemon/proxy/unit_reader.h"
#include "daemon/thrift/request_check.h"
#include "engine/frame.h"
#include "engine/link/session.h"
#include "engine/receive_window.h"

namespace hat {

class AcceptedLink;
class Worker;
struct Route;

class ServerStream final : private UnitSink,
                           private UpstreamUser,
                           private PooledCallEvents,
                           private Deadline {
 public:
  ServerStream(Worker& worker, AcceptedLink& link, uint32_t id, uint32_t lane,
               const ServedConfig& served);
  ~ServerStream() override;

  // From the link.
  void on_frame(uint32_t lane, const engine::FrameHeader& header, Bytes payload);
  void on_link_uncongested() { on_room(); }
  // It ends, as others do with it: what one of them frees is not for another.
  void stop_waiting();
  void on_lane_lost(const std::string& reason);
  void on_link_lost(const std::string& reason);  // it ends with the link
  // Rules have changed with the routes.
  void on_new_routes();
  // The stream begins with the connection to the server that this daemon, or the one before it,
  // keeps under the token.
  void attach(const engine::ConnectionToken& token);
  // It has a connection to the server that its peer may still ask for.
  bool can_move() const;
  uint32_t lane_number() const { return lane_; }  // by which its calls came last
  bool idle() const;
  // It ends with the link and not before: it carries bytes as they are, or cannot move.
  bool stays() const { return opaque_ || server_ == Server::kPinned; }

 private:
  // The connection to the server, and what the client's side knows of it.
  //   kAny ────────▶ kBound ──▶ kEnded; an opaque stream goes from kAny to kEnded
  //   kAttaching ──▶ kBound ──▶ kDetaching ──▶ kEnded, kPinned, or the stream is gone
  enum class Server : uint8_t {
    kAny,        // there is none, or another would do as well
    kAttaching,  // another stream had it, and it is on its way here
    kBound,      // a mirrored one: it is as good as the client's own, as its side was told
    kDetaching,  // as kBound, and another stream is to have it
    kPinned,     // as kBound, but no other stream can have it
    kEnded,      // the server has said its last, as the client's side was told; there is no other
  };
  bool is_bound() const { return server_ >= Server::kBound && server_ <= Server::kPinned; }

  // What this node's manifest says of a function.
  enum class Listed : uint8_t { kNot, kTwoWay, kOneway };

  // How a server's reply is known to be the call's.
  enum class Match : uint8_t {
    kNameAndId,
    kName,   // the peer's link version does not give the id
    kOrder,  // the request is a frame of several messages, of which the call names the first
  };

  // A request of a peer that `allow` restricts.
  enum class Check : uint8_t {
    kNotNeeded,  // the peer is not restricted
    kAwaited,    // it is held until it is whole
    kDenied,     // the peer says itself that it calls what it may not
    kPassed,
  };

  // Whether the peer is restricted at this server, by which generation of the routes.
  struct Standing {
    std::optional<uint64_t> generation;
    bool restricted = false;
  };

  struct ServedCall {
    uint64_t ordinal = 0;
    FunctionCounters* counters = nullptr;
    TimePoint started{};
    uint64_t request_bytes = 0;
    uint64_t response_bytes = 0;
    uint64_t name_hash = 0;
    int32_t id = 0;  // kNameAndId
    Match match = Match::kName;
    Polling polling = Polling::kEvent;
    uint16_t replies = 1;  // expected; known for sure once the request is complete
    uint16_t replies_seen = 0;
    size_t held_bytes = 0;  // of held_
    Listed listed = Listed::kNot;
    bool request_complete = false;
    bool handed_over = false;  // some of it went to the server's connection
    bool cancelled = false;    // nobody waits for its reply
    Reply reply = Reply::kCertain;
    Check check = Check::kNotNeeded;
    uint32_t lane = 0;  // that it came by, and its answer goes by
    bool is_answered_by(uint64_t name, int32_t seqid) const {
      return handed_over && (match == Match::kOrder ||
                             (name == name_hash && (match == Match::kName || seqid == id)));
    }
    // None of it goes to the server before all of it is checked.
    bool must_wait() const { return check == Check::kAwaited || check == Check::kDenied; }
    // The lane's other side counts it as due.
    bool is_due() const { return request_complete && replies != 0; }
    // The server has nothing of it, and gets nothing.
    bool is_dropped() const { return cancelled && !handed_over && held_bytes == 0; }
    // The server has all that it gets. The call need not be answered before the next one is.
    bool may_be_done() const {
      return is_dropped() ||
             (request_complete && handed_over && held_bytes == 0 && reply != Reply::kCertain);
    }
  };

  static constexpr size_t kCallsUncounted = 64;  // a stream may have those before they count
  void add(const ServedCall& call);
  void buffered(size_t before, size_t now);
  size_t counted_bytes() const;
  void give_back_queue();
  void on_call(uint32_t lane, const engine::FrameHeader& header, Bytes payload);
  void on_request_bytes(uint32_t lane, const engine::FrameHeader& header, Bytes bytes);
  void move_to(uint32_t lane);
  void refuse(uint32_t lane, const engine::FrameHeader& header);
  // Who may call what, in server_guard.cc.
  const Route& route_of(std::string_view service, std::string_view method) const;
  bool may_call(const Route& route);
  bool is_restricted();
  bool began_unchecked();
  void end_unchecked();
  bool check_newest(Bytes bytes);
  std::optional<thrift::BodyFault> fault_of(Bytes request, std::string& function);
  std::optional<thrift::BodyFault> fault_of_call(const thrift::Head& head, Bytes body,
                                                 std::string& function);
  std::optional<thrift::BodyFault> fault_under(const Route& route, const thrift::Head& head,
                                               Bytes body);
  std::string caller() const;

  engine::Failure as_told(engine::Failure failure) const;
  void on_cancel(uint64_t ordinal);
  void on_raw(Bytes bytes);
  void on_client_end();
  void pass_end();

  bool on_head(const thrift::Head& head) override;
  bool on_piece(Bytes piece, bool last) override;
  void on_opaque(Bytes bytes) override;
  void on_deadline() override;  // of connecting, attaching, detaching

  // The connection to the server moves between streams, in server_moves.cc.
  void on_detach();
  void try_detach();
  void pin();
  void try_attach();

  // The stream's own connection.
  PeerShare& share() const override { return *share_; }
  size_t read_budget() const override;
  void on_upstream_connected() override;
  void on_upstream_bytes(Bytes bytes) override;
  void on_upstream_wrote(size_t bytes) override;
  void on_upstream_end() override;
  void on_upstream_broke(const std::string& reason) override;
  bool ensure_upstream();
  bool all_may_be_done() const;
  void pass(ServedCall& call, Bytes bytes);
  void hold(ServedCall& call, Bytes bytes);
  size_t drop_held(ServedCall& call);
  void pass_held();
  void write_held();
  void advance();
  void lose_upstream(engine::Failure failure, bool delivered, std::string_view detail);
  void close_upstream();
  void end_server();
  void answer_sync();

  // A connection that others share, in server_sharing.cc.
  Bytes pooled_request() override;
  void on_pooled_request_sent() override;
  void on_pooled_free() override { advance(); }
  void on_pooled_answer() override;
  void on_pooled_failure(engine::Failure failure, bool delivered,
                         const std::string& detail) override;
  bool may_share(const ServedCall& call) const;
  bool is_empty_frame(const ServedCall& call) const;
  void advance_pooled();
  void refuse_front(engine::Failure failure, std::string_view detail);
  void take_own();
  void ask_pooled(ServedCall& call);
  void send_pooled_answer();

  // What goes back to the peer daemon.
  enum class Answers : uint8_t { kFront, kOnewayCall, kNothing };
  Answers what_is_answered(const thrift::Head& head);
  void end_without_reply();
  void finish_reply(thrift::Outcome outcome);
  void send_reply(Bytes piece, bool last, thrift::Outcome outcome);
  void send_raw(Bytes bytes);
  void send_fail(const ServedCall& call, engine::Failure failure, bool delivered,
                 std::string_view detail);
  void send_control(engine::FrameKind kind);
  engine::Lane& lane() const;
  void end_due(uint32_t lane);
  void end_all_due();
  void grant(size_t bytes);
  void grant_ahead(size_t bytes);
  void read_if_room();
  void on_room();

  void become_opaque();
  void refuse_newest(engine::Failure failure, std::string_view detail);
  std::string over_limit_text() const;
  void refuse_over_limit(Bytes bytes);
  void end_by_newest(engine::Failure failure, const std::string& detail);
  void close();
  void reset();
  void reset(engine::Failure failure, std::string_view detail);
  void note_if_opaque(engine::Failure failure, std::string_view detail);
  void close_if_done();
  void count(const ServedCall& call, CallOutcome outcome);

  Worker& worker_;
  AcceptedLink& link_;
  const std::shared_ptr<PeerShare> share_;
  const uint32_t id_;
  uint32_t lane_;
  const ServedConfig& served_;
  bool opaque_ = false;
  bool closed_ = false;
  bool client_ended_ = false;
  Server server_ = Server::kAny;
  bool request_open_ = false;  // pieces of the newest call are still to come
  bool reply_begun_ = false;   // the front call's kReply went out
  uint64_t last_ordinal_ = 0;
  uint64_t pending_sync_ = 0;        // kSync's number, answered once connecting has come to an end
  TimePoint moves_until_{};          // kAttaching, kDetaching: then it has come to nothing
  engine::ConnectionToken token_{};  // kAttaching

  Fifo<ServedCall> calls_;    // two-way calls without their whole reply, and the open request
  ByteQueue held_;            // requests that wait for a connection, or for their rest
  size_t granted_ahead_ = 0;  // bytes that the peer may send again, though they are held
  int64_t send_credit_ = engine::kStreamWindowBytes;
  engine::ReceiveWindow window_;
  std::unique_ptr<UpstreamConnection> upstream_;
  std::unique_ptr<PooledCall> pooled_;  // where the service is shared
  Standing standing_;
};

}  // namespace hat
