// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/inbound/inbound_stream.h: a stream that a peer daemon opened: its lane, the credit
// of both directions, and the frames that go back to the peer.
//
//   kOpen ──the peer's kEnd──▶ kPeerEnded ──▶ kClosed
//     └────────────────────────────────────────┘
//
// Bounds   The peer may send what ReceiveWindow allows. Bytes of replies may exceed the peer's
//          credit only by those that a UnitReader held back before it knew their head.
// Thread   the worker's.
#pragma once

#include <cstdint>
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
  // Begins with full credit in both directions, on the lane with that number. The stream sends
  // through `link` until it is closed.
  InboundStream(AcceptedLink& link, uint32_t id, uint32_t lane);

  uint32_t id() const { return id_; }
  bool is_closed() const { return state_ == State::kClosed; }
  // Returns true if the peer has sent kEnd: no calls and no bytes follow.
  bool peer_has_ended() const { return state_ == State::kPeerEnded; }
  void end_by_peer();
  void close() { change_to(State::kClosed); }

  // Returns the lane of the newest request, on which everything but answers to calls is sent.
  const InboundLane& lane() const { return lane_; }
  // Changes to the lane with that number; returns true if the stream was on another one.
  bool move_to(uint32_t lane);

  // --- Bytes from the peer ---

  // Counts bytes of a message that arrived. Returns false if they exceed the stream's window.
  bool take(size_t bytes) { return window_.take(bytes); }
  // Grants new credit for bytes that the server has taken, or that were dropped.
  void grant(size_t bytes);
  // Grants new credit for held bytes before they are passed on, so that `held` bytes are granted:
  // the peer may send the rest of a request that is held until it is whole. Otherwise the two sides
  // would wait for each other.
  void grant_ahead(size_t held);
  // Counts bytes that will be passed to grant() although they were granted before.
  void expect_granted(size_t bytes) { granted_ahead_ += bytes; }
  // Answers the kSync with this number at the next answer_sync(); 0: none.
  void expect_sync(uint64_t number) { pending_sync_ = number; }
  void answer_sync();

  // --- Bytes to the peer ---

  void add_credit(uint32_t bytes) { send_credit_ += bytes; }
  // Returns how many bytes of replies the peer and the lane take now.
  size_t budget() const;
  // Sends a piece of the reply to `call`. A range of `source`'s memory is sent without a copy if
  // the call's lane can do that; `source` may be null. `last` says that the reply ends here.
  void send_reply(ServedCall& call, Bytes piece, bool last, thrift::Outcome outcome,
                  UpstreamConnection* source);
  void send_no_reply(const ServedCall& call);
  void send_failure(const ServedCall& call, engine::Failure failure, bool delivered,
                    std::string_view detail);
  void send_raw(Bytes bytes);
  void send_control(engine::FrameKind kind, Bytes payload = {});
  void send_reset(engine::Failure failure, std::string_view detail);
  // Reports that a call on this lane ends without an answer, because the other side of an RDMA lane
  // counts it.
  void end_due(const InboundLane& lane);

 private:
  enum class State : uint8_t { kOpen, kPeerEnded, kClosed };
  void change_to(State next);
  engine::Failure as_told(engine::Failure failure) const;
  void spend(size_t bytes);
  void grant_if_worth_it();

  AcceptedLink& link_;
  const uint32_t id_;
  State state_ = State::kOpen;
  InboundLane lane_;
  uint64_t pending_sync_ = 0;
  int64_t send_credit_ = engine::kStreamWindowBytes;
  engine::ReceiveWindow window_;
  size_t granted_ahead_ = 0;  // bytes not yet passed on for which new credit was granted already
};

}  // namespace hat
