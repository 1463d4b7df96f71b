// SPDX-License-Identifier: Apache-2.0
#include "daemon/proxy/inbound/inbound_stream.h"

#include <glog/logging.h>

#include <algorithm>
#include <utility>

#include "daemon/proxy/inbound/accepted_link.h"
#include "daemon/proxy/inbound/upstream.h"

namespace hat {

using engine::Failure;
using engine::FrameHeader;
using engine::FrameKind;

InboundStream::InboundStream(AcceptedLink& link, uint32_t id, uint32_t lane,
                             engine::SendTurns::Member& turn)
    : link_(link), id_(id), lane_(link.lane(lane)), turn_(turn) {
  if (lane_.rdma != nullptr) counts_.received = 1;  // the frame that begins the stream
}

void InboundStream::change_to(State next) {
  DCHECK(state_ < next) << "a stream only advances";
  state_ = next;
}

void InboundStream::end_by_peer() {
  if (state_ == State::kOpen) change_to(State::kPeerEnded);
}

void InboundStream::close() {
  turn_.stop_waiting_for_turn();
  change_to(State::kClosed);
}

bool InboundStream::move_to(uint32_t lane) {
  if (lane == lane_.number) return false;
  turn_.stop_waiting_for_turn();
  lane_ = link_.lane(lane);
  return true;
}

void InboundStream::resume() {
  suspended_ = false;
  move_to(0);
}

// --- Bytes from the peer ---

void InboundStream::grant(size_t bytes) {
  const size_t ahead = std::min(bytes, granted_ahead_);
  granted_ahead_ -= ahead;
  window_.pass_on(bytes - ahead);
  grant_if_worth_it();
}

void InboundStream::grant_ahead(size_t held) {
  if (held <= granted_ahead_) return;
  window_.pass_on(held - granted_ahead_);
  granted_ahead_ = held;
  grant_if_worth_it();
}

// Sends the credit over the link's TCP connection, whichever lane the stream uses. On an RDMA lane
// that fails after the stream has moved to another lane, the credit would be lost.
void InboundStream::grant_if_worth_it() {
  if (!window_.worth_a_frame()) return;
  link_.lane(0).frames->send({.kind = FrameKind::kCredit, .stream = id_, .credit = window_.grant()},
                             {});
}

void InboundStream::answer_sync() {
  const uint64_t number = std::exchange(pending_sync_, 0);
  if (number == 0) return;
  send(lane_, {.kind = FrameKind::kSynced, .stream = id_, .call = number}, {});
}

// --- Bytes to the peer ---

size_t InboundStream::budget() {
  if (is_closed() || suspended_ || send_credit_ <= 0) return 0;
  return std::min(static_cast<size_t>(send_credit_), lane_.frames->turns().budget(turn_));
}

void InboundStream::spend(size_t bytes) {
  send_credit_ -= static_cast<int64_t>(bytes);
  lane_.frames->turns().sent(turn_, sizeof(FrameHeader) + bytes);
  DCHECK_GE(send_credit_, -static_cast<int64_t>(UnitReader::kHeldBytesMax))
      << "more was sent than the peer takes";
}

void InboundStream::send_reply(ServedCall& call, Bytes piece, const ReplyPiece& what,
                               UpstreamConnection* source) {
  FrameHeader header{.stream = id_, .call = call.ordinal};
  call.response_bytes += piece.size();
  spend(piece.size());
  do {  // several frames if the piece, which can have bytes held back, exceeds kPieceBytesMax
    const Bytes part = piece.first(std::min<size_t>(piece.size(), engine::kPieceBytesMax));
    piece = piece.subspan(part.size());
    header.kind = call.begin_reply(what.now) ? FrameKind::kReply : FrameKind::kMore;
    header.credit = window_.grant();
    header.flags = call.is_complete() ? 0 : engine::kEarly;
    header.replies = 0;
    if (header.kind == FrameKind::kReply) set_times(header, call);
    if (what.is_last && piece.empty()) {
      const auto how = static_cast<uint8_t>(what.outcome);
      header.flags |= static_cast<uint8_t>(engine::kLastPiece | how << engine::kOutcomeShift);
    }
    if (source != nullptr && source->send_zero_copy(link_, call.lane, header, part)) {
      ++counts_.sent;
    } else {
      send(call.lane, header, {part});
    }
  } while (!piece.empty());
}

// Says in the first frame of a reply how long the call was at this host. Older peers do not accept
// these flags.
void InboundStream::set_times(FrameHeader& first, const ServedCall& call) const {
  if (!knows_times(link_.peer())) return;
  if (const auto times = call.times()) set_served(first, *times);
}

// Reports that the call was oneway. Without this frame, the client's side would wait for a reply.
void InboundStream::send_no_reply(const ServedCall& call) {
  send(call.lane,
       {.kind = FrameKind::kReply,
        .flags = engine::kLastPiece | engine::kNoReply,
        .stream = id_,
        .call = call.ordinal},
       {});
}

void InboundStream::send_failure(const ServedCall& call, Failure failure, bool delivered,
                                 std::string_view detail) {
  const engine::FailMeta meta{as_peer_knows(failure), delivered};
  const uint16_t due = call.is_due() ? 1 : 0;
  send(call.lane, {.kind = FrameKind::kFail, .replies = due, .stream = id_, .call = call.ordinal},
       {std::as_bytes(std::span(&meta, 1)), std::as_bytes(std::span(detail))});
}

void InboundStream::send_raw(Bytes bytes) {
  spend(bytes.size());
  while (!bytes.empty()) {
    const Bytes piece = bytes.first(std::min<size_t>(bytes.size(), engine::kPieceBytesMax));
    bytes = bytes.subspan(piece.size());
    send(lane_, {.kind = FrameKind::kRaw, .stream = id_, .credit = window_.grant()}, {piece});
  }
}

void InboundStream::send_control(FrameKind kind, Bytes payload) {
  send(lane_, {.kind = kind, .stream = id_}, {payload});
}

void InboundStream::send_reset(Failure failure, std::string_view detail, bool delivered) {
  const engine::FailMeta meta{as_peer_knows(failure), delivered};
  send(lane_, {.kind = FrameKind::kReset, .stream = id_},
       {std::as_bytes(std::span(&meta, 1)), std::as_bytes(std::span(detail))});
}

void InboundStream::end_due(const InboundLane& lane) {
  if (lane.rdma == nullptr) return;
  send(lane, {.kind = FrameKind::kCredit, .replies = 1, .stream = id_}, {});
}

// Returns `failure`, or another failure that the peer knows if the peer's link version is too old
// for `failure`.
Failure InboundStream::as_peer_knows(Failure failure) const {
  const bool known = failure != Failure::kPermissionDenied ||
                     link_.peer().version_max >= engine::kLinkVersionOfDenials;
  return known ? failure : Failure::kUnknownService;
}

}  // namespace hat
