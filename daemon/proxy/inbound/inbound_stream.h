// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/inbound/inbound_stream.h: a stream that a peer daemon opened: the stream's lane, the
// credit of both directions, and the frames that are sent to the peer.
//
//   kOpen ──the peer's kEnd──▶ kPeerEnded ──▶ kClosed
//     └────────────────────────────────────────┘
//
// Bounds   engine::ReceiveWindow limits the bytes from the peer. Bytes of replies can exceed the
//          credit that the peer granted by at most UnitReader::kHeldBytesMax, the bytes that a
//          UnitReader holds back until it has read a message's head.
// Thread   the worker's.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "daemon/proxy/inbound/inbound_lane.h"
#include "daemon/proxy/inbound/served_calls.h"
#include "daemon/thrift/message_reader.h"
#include "engine/frame.h"
#include "engine/receive_window.h"

namespace hat {

class AcceptedLink;
class UpstreamConnection;

class InboundStream {
 public:
  // Begins a stream on the lane with the number `lane` of `link`, with full credit in both
  // directions. `turn` is the owner's place in the queue of a congested lane.
  InboundStream(AcceptedLink& link, uint32_t id, uint32_t lane, engine::SendTurns::Member& turn);

  uint32_t id() const { return id_; }
  bool is_closed() const { return state_ == State::kClosed; }
  // Returns true if the peer has sent a kEnd frame, so that no calls and no bytes follow.
  bool peer_has_ended() const { return state_ == State::kPeerEnded; }
  // Records that the peer has sent a kEnd frame.
  void end_by_peer();
  void close();

  // Returns the lane of the newest request. All frames but replies, failures and credit are sent on
  // this lane.
  const InboundLane& lane() const { return lane_; }
  // Changes to the lane with this number. Returns true if the stream was on another lane.
  bool move_to(uint32_t lane);

  // --- The loss of the lane (docs/link.md, "A stream that resumes") ---

  // Makes budget() return 0 until resume(), because the stream's RDMA lane is lost.
  void suspend() { suspended_ = true; }
  bool is_suspended() const { return suspended_; }
  // Continues on the TCP lane.
  void resume();
  // Returns what was sent on RDMA lanes and received from RDMA lanes.
  const engine::LaneCounts& counts() const { return counts_; }

  // --- Bytes from the peer ---

  // Records that a frame has arrived from the lane with this number: counts it, and adds the credit
  // that the peer grants by it.
  void note_frame(const engine::FrameHeader& header, uint32_t lane) {
    send_credit_ += header.credit;
    if (lane != 0) ++counts_.received;
  }
  // Counts `bytes` bytes that arrived. Returns false if they exceed the stream's window.
  bool take(size_t bytes) { return window_.take(bytes); }
  // Grants new credit for `bytes` bytes that the server has taken or that were dropped, except for
  // bytes whose credit was granted before.
  void grant(size_t bytes);
  // Grants credit for `held` bytes of a request that is held until all of it has arrived. Without
  // this credit the peer could not send the rest of a request that is larger than the window.
  void grant_ahead(size_t held);
  // Records that the credit for `bytes` bytes was granted before, so that a later grant() for these
  // bytes does not grant credit again.
  void expect_granted(size_t bytes) { granted_ahead_ += bytes; }
  // Sets how many of the bytes that were passed on get no credit for now, because the server has
  // not read them (ReceiveWindow::withhold()). The next grant() considers this.
  void withhold(size_t bytes) { window_.withhold(bytes); }
  bool withholds_much() const { return window_.withholds_much(); }
  // Records a kSync frame with this number, which the next answer_sync() answers.
  void expect_sync(uint64_t number) { pending_sync_ = number; }
  // Answers the recorded kSync frame, if there is one, with a kSynced frame.
  void answer_sync();

  // --- Bytes to the peer ---

  // Returns how many bytes of replies can be sent now. If the stream has credit, but the lane takes
  // no bytes, the lane calls the owner's on_turn() when it takes bytes again.
  size_t budget();
  struct ReplyPiece {
    bool is_last;             // the reply ends with this piece
    thrift::Outcome outcome;  // of the call; it counts if the piece is the last one
    TimePoint now;
  };
  // Sends a piece of the reply to `call`. If `piece` is in the memory of `source`, the lane sends
  // it without a copy if possible. `source` is null if `piece` is not in the memory of an upstream
  // connection.
  void send_reply(ServedCall& call, Bytes piece, const ReplyPiece& what,
                  UpstreamConnection* source);
  // Reports to the peer that `call` was oneway and has no reply.
  void send_no_reply(const ServedCall& call);
  void send_failure(const ServedCall& call, engine::Failure failure, bool delivered,
                    std::string_view detail);
  void send_raw(Bytes bytes);
  void send_control(engine::FrameKind kind, Bytes payload = {});
  // Ends the stream at the peer. `delivered`: the server may have seen the unanswered calls.
  void send_reset(engine::Failure failure, std::string_view detail, bool delivered);
  // Reports to the peer that one call on this RDMA lane ends without a reply, because the peer's
  // RDMA lane counts the replies that it expects. Does nothing on the TCP lane.
  void end_due(const InboundLane& lane);

 private:
  void set_times(engine::FrameHeader& first, const ServedCall& call) const;
  enum class State : uint8_t { kOpen, kPeerEnded, kClosed };
  void change_to(State next);
  void send(const InboundLane& lane, const engine::FrameHeader& header,
            std::initializer_list<engine::Bytes> pieces) {
    if (lane.rdma != nullptr) ++counts_.sent;
    lane.frames->send(header, pieces);
  }
  engine::Failure as_peer_knows(engine::Failure failure) const;
  void spend(size_t bytes);
  void grant_if_worth_it();

  AcceptedLink& link_;
  const uint32_t id_;
  State state_ = State::kOpen;
  InboundLane lane_;
  engine::SendTurns::Member& turn_;
  engine::LaneCounts counts_;
  bool suspended_ = false;
  uint64_t pending_sync_ = 0;
  int64_t send_credit_ = engine::kStreamWindowBytes;
  engine::ReceiveWindow window_;
  size_t granted_ahead_ = 0;  // bytes whose credit was granted before the server has taken them
};

}  // namespace hat
