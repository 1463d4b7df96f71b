// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/inbound/server_stream.h: one stream from a peer daemon: its requests go to the local
// server, in order, and the replies go back.
//
// A stream has an upstream connection of its own, unless the service's mode is `shared`. Then whole
// requests use connections that many streams share (daemon/proxy/inbound/pooled_call.h). Even then
// the stream opens a connection of its own for what may not share one: calls of functions that no
// manifest lists, requests larger than limits.shared_request, and bytes that are not calls. While
// the stream has this connection, all its requests use it, in order. The stream closes it once all
// calls are answered.
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

  // Handles events that the link passes on.
  void on_frame(uint32_t lane, const engine::FrameHeader& header, Bytes payload);
  void on_link_uncongested() { on_room(); }
  // Stops waiting for a shared connection. The stream is about to end together with others, and a
  // connection that one of them frees must not go to another one of them.
  void stop_waiting();
  void on_lane_lost(const std::string& reason);
  void on_link_lost(const std::string& reason);  // the stream ends with the link
  // Handles new routes, whose `allow` rules may have changed.
  void on_new_routes();
  // Begins the stream with the connection to the server that this daemon, or its predecessor, keeps
  // under the token.
  void attach(const engine::ConnectionToken& token);
  // Returns true if the stream has a connection to the server that the peer may still ask for.
  bool can_move() const;
  uint32_t lane_number() const { return lane_; }  // of its newest request
  bool idle() const;
  // Returns true if the stream ends only together with the link: it is opaque, or its connection to
  // the server cannot move.
  bool stays() const { return opaque_ || server_ == Server::kPinned; }

 private:
  // The connection to the server, and what the client's side knows of it.
  //   kAny ────────▶ kBound ──▶ kEnded; an opaque stream changes from kAny to kEnded
  //   kAttaching ──▶ kBound ──▶ kDetaching ──▶ kEnded, kPinned, or the stream is gone
  enum class Server : uint8_t {
    kAny,        // there is none, or any other would do as well
    kAttaching,  // another stream had it, and this stream waits for it
    kBound,      // a mirrored one; kBound was sent, so the client's side relies on it
    kDetaching,  // as kBound, and another stream will claim it
    kPinned,     // as kBound, but no other stream can have it
    kEnded,      // the server has ended it, and kEnd was sent; the stream gets no other
  };
  bool is_bound() const { return server_ >= Server::kBound && server_ <= Server::kPinned; }

  // How this node's manifest lists a function.
  enum class Listed : uint8_t { kNot, kTwoWay, kOneway };

  // How the stream knows that a reply of the server answers a call.
  enum class Match : uint8_t {
    kNameAndId,
    kName,   // the peer's link version does not send the id
    kOrder,  // the request is a frame of several messages; the call names only the first
  };

  // The check of one request, if `allow` restricts the peer.
  enum class Check : uint8_t {
    kNotNeeded,  // the peer is not restricted
    kAwaited,    // the request is held until it is whole
    kDenied,     // the peer's kCall names a function that the peer may not call
    kPassed,
  };

  // Whether the peer is restricted at this server, by the rules of one generation of the routes.
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
    int32_t id = 0;  // if match is kNameAndId
    Match match = Match::kName;
    Polling polling = Polling::kEvent;
    uint16_t replies = 1;  // the expected number; certain once the request is complete
    uint16_t replies_seen = 0;
    size_t held_bytes = 0;  // its bytes in held_
    Listed listed = Listed::kNot;
    bool request_complete = false;
    bool handed_over = false;  // a part of it was written to the server's connection
    bool cancelled = false;    // the client no longer waits for its reply
    Reply reply = Reply::kCertain;
    Check check = Check::kNotNeeded;
    uint32_t lane = 0;  // on which it arrived, and on which its answer is sent
    bool is_answered_by(uint64_t name, int32_t seqid) const {
      return handed_over && (match == Match::kOrder ||
                             (name == name_hash && (match == Match::kName || seqid == id)));
    }
    // Returns true if the whole request must be checked before the server receives any part of it.
    bool must_wait() const { return check == Check::kAwaited || check == Check::kDenied; }
    // Returns true if the peer's end of the lane counts the call's reply as due.
    bool is_due() const { return request_complete && replies != 0; }
    // Returns true if the server has received nothing of the call, and will receive nothing.
    bool is_dropped() const { return cancelled && !handed_over && held_bytes == 0; }
    // Returns true if the server has everything of the call that it will receive, and later calls
    // may be answered first.
    bool may_be_done() const {
      return is_dropped() ||
             (request_complete && handed_over && held_bytes == 0 && reply != Reply::kCertain);
    }
  };

  // A queue with space for no more calls than this does not count towards limits.max_buffered.
  static constexpr size_t kCallsUncounted = 64;
  void add(const ServedCall& call);
  void buffered(size_t before, size_t now);
  size_t counted_bytes() const;
  void give_back_queue();
  void on_call(uint32_t lane, const engine::FrameHeader& header, Bytes payload);
  void on_request_bytes(uint32_t lane, const engine::FrameHeader& header, Bytes bytes);
  void move_to(uint32_t lane);
  void refuse(uint32_t lane, const engine::FrameHeader& header);
  // Decides which function the peer may call, in server_guard.cc.
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

  // Moves the connection to the server between streams, in server_moves.cc.
  void on_detach();
  void try_detach();
  void pin();
  void try_attach();

  // Uses the stream's own connection.
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

  // Uses a connection that other streams share, in server_sharing.cc.
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

  // Answers to the peer daemon.
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
  bool request_open_ = false;  // more pieces of the newest call will arrive
  bool reply_begun_ = false;   // the front call's kReply was sent
  uint64_t last_ordinal_ = 0;
  uint64_t pending_sync_ = 0;        // the kSync to answer when connecting has ended; 0: none
  TimePoint moves_until_{};          // kAttaching, kDetaching: the deadline of the move
  engine::ConnectionToken token_{};  // in kAttaching

  Fifo<ServedCall> calls_;    // two-way calls without a whole reply, and the one that is arriving
  ByteQueue held_;            // requests that wait for a connection, or for their rest
  size_t granted_ahead_ = 0;  // held bytes for which the peer has been granted new credit already
  int64_t send_credit_ = engine::kStreamWindowBytes;
  engine::ReceiveWindow window_;
  std::unique_ptr<UpstreamConnection> upstream_;
  std::unique_ptr<PooledCall> pooled_;  // if the service is shared
  Standing standing_;
};

}  // namespace hat
