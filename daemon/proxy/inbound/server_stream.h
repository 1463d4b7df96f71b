// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/inbound/server_stream.h: one stream from a peer daemon. A ServerStream writes the
// stream's requests to the local server, in order, and sends the replies to the peer.
//
// In mirror mode, the stream has an upstream connection of its own. In shared mode, each request
// uses a connection that many streams share (daemon/proxy/inbound/pooled_call.h). In shared mode
// the stream opens a connection of its own for bytes that must not use a shared connection:
//   · calls of functions that no manifest lists
//   · requests larger than limits.shared_request
//   · bytes that are not Thrift calls
// While the stream has a connection of its own, all its requests use this connection. In shared
// mode the stream closes this connection once all its calls are answered.
//
// The parts of a stream:
//   InboundStream   the lane, the credit and the frames that go to the peer
//   ServedCalls     the calls in their order, and request bytes that wait to be written
//   RequestGuard    decides which functions this peer may call
//   ServerBinding   whether the stream must use one particular connection to the server
//
// Thread   the worker's.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "daemon/proxy/configured.h"
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

class ServerStream final : private UnitSink,
                           private UpstreamUser,
                           private PooledCallEvents,
                           private engine::SendTurns::Member {
 public:
  ServerStream(Worker& worker, AcceptedLink& link, uint32_t id, uint32_t lane,
               std::shared_ptr<const Served> served);
  ~ServerStream() override;

  // The text of the failure of a stream that has lost its RDMA lane and cannot continue.
  static constexpr std::string_view kLaneLost =
      "RDMA lane: the lane that carried the stream was lost";

  // --- Events, which the link passes on ---
  // Handles a frame of the stream, which arrived on the lane with the number `lane`.
  void on_frame(uint32_t lane, const engine::FrameHeader& header, Bytes payload);
  // Returns space in the server's ring for the payload of a frame that the lane of `asker` is about
  // to READ; returns no space if the payload must not go to the server at once.
  engine::Landing landing_for(const engine::FrameHeader& header, const LandingAsker& asker);
  // Stops waiting for a shared connection. The link calls this for all streams that are about to
  // end, so that a connection which one of these streams frees goes to a stream that continues.
  void stop_waiting();
  // Sends all later frames on the TCP lane instead of the RDMA lane with this number, which is
  // gone. Returns true if the stream's newest request used the RDMA lane; the caller must then call
  // on_lane_lost().
  bool leave_lane(uint32_t lane);
  // Returns true if the peer has sent the stream's last frame, and all its frames have arrived.
  bool peer_has_ended() const { return stream_.peer_has_ended(); }
  // Ends the stream, because its RDMA lane is lost and the peer's link version has no kResume.
  void on_lane_lost(const std::string& reason);
  // Makes the stream wait for the peer's kResume frame, because its RDMA lane is lost.
  void suspend();
  // Ends the stream, because its link is lost.
  void on_link_lost(const std::string& reason);
  // Handles new routes, whose `allow` rules can differ from the old ones.
  void on_new_routes();
  // Begins the stream with the detached connection to the server that `token` names.
  void attach(const engine::ConnectionToken& token);
  // Returns true if the stream has a connection to the server that can move to another stream.
  bool can_move() const;
  // Returns true if no call is in flight, and no bytes wait to be written to the server.
  bool idle() const;
  // Returns true if the stream must stay on its link until the client or the server ends it: the
  // stream is opaque, or its connection to the server cannot move.
  bool stays() const { return is_opaque() || binding_.is(ServerBinding::State::kPinned); }

 private:
  // Whether the daemon reads the stream's bytes as Thrift calls: kCalls ──▶ kOpaque.
  enum class Mode : uint8_t { kCalls, kOpaque };
  bool is_opaque() const { return mode_ == Mode::kOpaque; }

  // A deadline after which an attempt to connect fails, or an attempt to attach or detach a
  // connection to the server is repeated.
  struct Attempt final : Deadline {
    explicit Attempt(ServerStream& its_stream) : stream(its_stream) {}
    void on_deadline() override { stream.on_attempt_end(); }
    ServerStream& stream;
  };

  // A deadline after which a suspended stream waits no longer for a kResume frame.
  struct ResumeWait final : Deadline {
    explicit ResumeWait(ServerStream& its_stream) : stream(its_stream) {}
    void on_deadline() override { stream.on_resume_wait_end(); }
    ServerStream& stream;
  };

  // --- The lane; in server_lanes.cc ---
  bool move_to(uint32_t lane);
  void end_due(uint32_t lane, const engine::FrameHeader& header);
  void on_resume(Bytes payload);
  bool has_delivered() const;
  void continue_on_tcp();
  void on_resume_wait_end();

  // --- Requests ---
  void refuse(uint32_t lane, const engine::FrameHeader& header);
  void on_call(uint32_t lane, const engine::FrameHeader& header, Bytes payload);
  void on_request_bytes(uint32_t lane, const engine::FrameHeader& header, Bytes bytes);
  void on_cancel(uint64_t ordinal);
  void on_raw(Bytes bytes);
  void on_client_end();
  void pass_end();
  void become_opaque();
  // --- Requests that are checked, or that exceed a limit ---
  bool began_unchecked();
  void end_unchecked();
  bool check_newest(ServedCall& call, Bytes bytes);
  void refuse_over_limit(Bytes bytes);

  bool on_head(const thrift::Head& head) override;
  bool on_piece(Bytes piece, bool last) override;
  void on_opaque(Bytes bytes) override;
  void on_attempt_end();

  // --- Moves of the connection to the server between streams; in server_moves.cc ---
  void on_detach();
  void try_detach();
  void pin();
  void try_attach();

  // --- The stream's own upstream connection ---
  PeerShare& share() const override { return *share_; }
  size_t read_budget() override;
  void on_upstream_connected() override;
  void on_upstream_bytes(Bytes bytes) override;
  void on_upstream_wrote(size_t bytes) override;
  void on_upstream_half_free() override { grant_as_read(0); }
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
  void grant_as_read(size_t bytes);
  void end_server();
  void answer_sync();

  // --- After a reload; in server_sharing.cc ---
  void use_current_server();
  bool is_removed() const;
  std::string removed_text() const;

  // --- Calls on shared connections; in server_sharing.cc ---
  Bytes pooled_request() override;
  void on_pooled_request_sent() override;
  void on_pooled_free() override { advance(); }
  void on_pooled_answer() override;
  void on_pooled_failure(engine::Failure failure, bool delivered,
                         const std::string& detail) override;
  void advance_pooled();
  void take_own();
  void ask_pooled(ServedCall& call);
  void send_pooled_answer();

  // --- Answers to the peer daemon; in server_replies.cc ---
  void refuse_newest(engine::Failure failure, std::string_view detail);
  void end_by_newest(engine::Failure failure, const std::string& detail);
  void end_without_reply();
  void end_cancelled();
  void finish_reply(thrift::Outcome outcome);
  void send_failure(const ServedCall& call, engine::Failure failure, bool delivered,
                    std::string_view detail);
  void fail_front(engine::Failure failure, bool delivered, std::string_view detail);
  void end_all_due();
  void read_if_space();
  void on_space();
  void on_turn() override;

  void close();
  void reset();
  void reset(engine::Failure failure, std::string_view detail, bool delivered = true);
  void note_if_opaque(engine::Failure failure, std::string_view detail);
  void close_if_done();

  Worker& worker_;
  AcceptedLink& link_;
  const std::shared_ptr<PeerShare> share_;
  std::shared_ptr<const Served> served_;
  InboundStream stream_;
  ServedCalls calls_;
  RequestGuard guard_;
  ServerBinding binding_;
  Mode mode_ = Mode::kCalls;
  std::unique_ptr<UpstreamConnection> upstream_;
  std::unique_ptr<PooledCall> pooled_;  // null in mirror mode
  Attempt attempt_{*this};
  ResumeWait resume_wait_{*this};
};

}  // namespace hat
