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
// The parts of a stream:
//   InboundStream   the lane, the credit and the frames that go to the peer
//   ServedCalls     the calls in their order, and the requests that are held here
//   RequestGuard    what `allow` lets this peer call
//   ServerBinding   whether the stream is bound to one connection to the server
//
// Thread   the worker's.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "config/node.h"
#include "daemon/proxy/deadlines.h"
#include "daemon/proxy/inbound/inbound_stream.h"
#include "daemon/proxy/inbound/peer_share.h"
#include "daemon/proxy/inbound/pooled_call.h"
#include "daemon/proxy/inbound/request_guard.h"
#include "daemon/proxy/inbound/served_calls.h"
#include "daemon/proxy/inbound/server_binding.h"
#include "daemon/proxy/inbound/upstream.h"
#include "daemon/proxy/unit_reader.h"
#include "engine/frame.h"

namespace hat {

class AcceptedLink;
class Worker;

class ServerStream final : private UnitSink, private UpstreamUser, private PooledCallEvents {
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
  // Uses the session's lane instead of the lane with that number, which is gone, for everything
  // that is sent from now on. Returns true if the stream was on it; on_lane_lost() must follow.
  bool leave_lane(uint32_t lane);
  void on_lane_lost(const std::string& reason);
  void on_link_lost(const std::string& reason);  // the stream ends with the link
  // Handles new routes, whose `allow` rules may have changed.
  void on_new_routes();
  // Begins the stream with the connection to the server that this daemon, or its predecessor, keeps
  // under the token.
  void attach(const engine::ConnectionToken& token);
  // Returns true if the stream has a connection to the server that the peer may still ask for.
  bool can_move() const;
  uint32_t lane_number() const { return stream_.lane().number; }  // of its newest request
  bool idle() const;
  // Returns true if the stream ends only together with the link: it is opaque, or its connection to
  // the server cannot move.
  bool stays() const { return is_opaque() || binding_.is(ServerBinding::State::kPinned); }

 private:
  // Whether the bytes of the stream are followed as Thrift calls: kCalls ──▶ kOpaque.
  enum class Mode : uint8_t { kCalls, kOpaque };
  bool is_opaque() const { return mode_ == Mode::kOpaque; }

  // Ends an attempt to connect, and repeats one to attach or to detach.
  struct Attempt final : Deadline {
    explicit Attempt(ServerStream& its_stream) : stream(its_stream) {}
    void on_deadline() override { stream.on_attempt_end(); }
    ServerStream& stream;
  };

  // Requests.
  bool move_to(uint32_t lane);
  void end_due(uint32_t lane, const engine::FrameHeader& header);
  void refuse(uint32_t lane, const engine::FrameHeader& header);
  void on_call(uint32_t lane, const engine::FrameHeader& header, Bytes payload);
  void on_request_bytes(uint32_t lane, const engine::FrameHeader& header, Bytes bytes);
  void on_cancel(uint64_t ordinal);
  void on_raw(Bytes bytes);
  void on_client_end();
  void pass_end();
  void become_opaque();
  // Requests that are checked, or that exceed a limit.
  bool began_unchecked();
  void end_unchecked();
  bool check_newest(ServedCall& call, Bytes bytes);
  void refuse_over_limit(Bytes bytes);
  void refuse_newest(engine::Failure failure, std::string_view detail);
  void end_by_newest(engine::Failure failure, const std::string& detail);

  bool on_head(const thrift::Head& head) override;
  bool on_piece(Bytes piece, bool last) override;
  void on_opaque(Bytes bytes) override;
  void on_attempt_end();

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
  void pass(ServedCall& call, Bytes bytes);
  bool pass_held(ServedCall& call);
  void pass_all_held();
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
  void on_pooled_answer() override { send_pooled_answer(); }
  void on_pooled_failure(engine::Failure failure, bool delivered,
                         const std::string& detail) override;
  void advance_pooled();
  void take_own();
  void ask_pooled(ServedCall& call);
  void send_pooled_answer();

  // Answers to the peer daemon, in server_replies.cc.
  void end_without_reply();
  void end_cancelled();
  void finish_reply(thrift::Outcome outcome);
  void send_failure(const ServedCall& call, engine::Failure failure, bool delivered,
                    std::string_view detail);
  void fail_front(engine::Failure failure, bool delivered, std::string_view detail);
  void end_all_due();
  void read_if_room();
  void on_room();

  void close();
  void reset();
  void reset(engine::Failure failure, std::string_view detail);
  void note_if_opaque(engine::Failure failure, std::string_view detail);
  void close_if_done();

  Worker& worker_;
  AcceptedLink& link_;
  const std::shared_ptr<PeerShare> share_;
  const ServedConfig& served_;
  InboundStream stream_;
  ServedCalls calls_;
  RequestGuard guard_;
  ServerBinding binding_;
  Mode mode_ = Mode::kCalls;
  std::unique_ptr<UpstreamConnection> upstream_;
  std::unique_ptr<PooledCall> pooled_;  // if the service is shared
  Attempt attempt_{*this};
};

}  // namespace hat
