// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/inbound/server_replies.cc: the replies of a served stream: the local server's bytes
// go back to the peer daemon, reply by reply.
#include <algorithm>

#include "daemon/proxy/opaque_failure.h"
#include "daemon/proxy/worker.h"

namespace hat {

using engine::Failure;
using engine::FrameHeader;
using engine::FrameKind;

size_t ServerStream::read_budget() const {
  if (closed_ || send_credit_ <= 0 || lane().congested()) return 0;
  // Only the rest of a reply is read here; the next stream reads what arrives after it.
  if (server_ == Server::kDetaching && !upstream_->replies().inside_unit()) return 0;
  return std::min<size_t>(static_cast<size_t>(send_credit_), worker_.scratch().size());
}

void ServerStream::read_if_room() {
  if (upstream_) upstream_->want_read(read_budget() != 0);
}

void ServerStream::on_room() {
  read_if_room();
  if (pooled_ && !closed_) send_pooled_answer();
}

void ServerStream::on_upstream_bytes(Bytes bytes) {
  if (opaque_) {
    send_raw(bytes);
  } else {
    upstream_->replies().feed(bytes, *this);
  }
  if (!closed_) read_if_room();
}

bool ServerStream::on_head(const thrift::Head& head) {
  if (upstream_->dropping_reply) return true;
  switch (what_is_answered(head)) {
    case Answers::kFront:
      ++calls_.front().replies_seen;
      return true;
    case Answers::kOnewayCall:
      upstream_->dropping_reply = true;
      worker_.counters().unsolicited_replies.add();
      return true;
    case Answers::kNothing:
      break;
  }
  // It is not known which call this reply answers, nor which calls the next replies answer.
  worker_.counters().unsolicited_replies.add();
  lose_upstream(Failure::kUpstreamClosed, true,
                to_string(served_.upstream) +
                    ": the server sent a reply that answers no call; its connection is closed");
  return false;
}

// Servers answer in order, so a reply is for the front call. There are two exceptions: the front
// call is oneway, or the server has answered a oneway call. Stock servers answer a oneway call of a
// function that they do not know with an exception.
ServerStream::Answers ServerStream::what_is_answered(const thrift::Head& head) {
  if (head.type != thrift::MessageType::kReply && head.type != thrift::MessageType::kException) {
    return Answers::kNothing;
  }
  if (!calls_.empty() && calls_.front().replies_seen != 0) {
    const bool owes_one = calls_.front().match == Match::kNameAndId;
    return owes_one ? Answers::kNothing : Answers::kFront;
  }
  const uint64_t name = thrift::name_hash(thrift::bare_name(head.name));
  if (!calls_.empty() && calls_.front().is_answered_by(name, head.seqid)) return Answers::kFront;
  if (upstream_->passed_oneway(name)) return Answers::kOnewayCall;
  // Go sends oneway calls as ordinary ones. If no manifest lists the function, the reply to a later
  // call shows that this call was oneway.
  for (size_t i = 1; i < calls_.size() && calls_[i - 1].may_be_done(); ++i) {
    if (!calls_[i].is_answered_by(name, head.seqid)) continue;
    for (; i != 0; --i) end_without_reply();
    return Answers::kFront;
  }
  return Answers::kNothing;
}

// Ends the front call, which was oneway. The client's side gets a kNoReply frame; without it, the
// client's connection would wait for the reply.
void ServerStream::end_without_reply() {
  const ServedCall& call = calls_.front();
  if (call.cancelled) {
    if (call.is_due()) end_due(call.lane);
  } else if (call.replies != 0) {
    link_.lane(call.lane).send({.kind = FrameKind::kReply,
                                .flags = engine::kLastPiece | engine::kNoReply,
                                .stream = id_,
                                .call = call.ordinal},
                               {});
  }
  count(call, call.cancelled ? CallOutcome::kUnknown : CallOutcome::kOneway);
  if (call.handed_over && upstream_) upstream_->note_oneway(call.name_hash);
  calls_.pop_front();
}

bool ServerStream::on_piece(Bytes piece, bool last) {
  const UpstreamConnection* const from = upstream_.get();
  if (upstream_->dropping_reply || calls_.empty()) {
    if (last) upstream_->dropping_reply = false;
    return true;
  }
  const ServedCall& call = calls_.front();
  const bool complete = last && call.replies_seen >= (call.request_complete ? call.replies : 1);
  const thrift::Outcome outcome = upstream_->replies().messages().outcome();
  send_reply(piece, complete, outcome);
  if (complete) finish_reply(outcome);
  // Later replies on this connection do not answer calls that have gone to another one since.
  return !closed_ && upstream_.get() == from;
}

void ServerStream::on_opaque(Bytes bytes) {
  if (is_restricted()) {
    return reset(Failure::kUpstreamClosed, caller() +
                                               " may not call all functions, and the server sent "
                                               "bytes that cannot be followed as Thrift");
  }
  become_opaque();
  send_raw(bytes);
  write_held();  // also passes on the client's FIN, if it has arrived
}

void ServerStream::send_reply(Bytes piece, bool last, thrift::Outcome outcome) {
  ServedCall& call = calls_.front();
  FrameHeader header{.stream = id_, .call = call.ordinal};
  call.response_bytes += piece.size();
  send_credit_ -= static_cast<int64_t>(piece.size());
  do {  // repeats only if bytes were held until the unit's head was known
    const Bytes part = piece.first(std::min<size_t>(piece.size(), engine::kPieceBytesMax));
    piece = piece.subspan(part.size());
    header.kind = std::exchange(reply_begun_, true) ? FrameKind::kMore : FrameKind::kReply;
    header.credit = window_.grant();
    header.flags = call.request_complete ? 0 : engine::kEarly;
    if (last && piece.empty()) {
      const auto how = static_cast<uint8_t>(outcome);
      header.flags |= static_cast<uint8_t>(engine::kLastPiece | how << engine::kOutcomeShift);
    }
    engine::RdmaLane* rdma = link_.rdma_lane(call.lane);
    if (rdma == nullptr || !upstream_ ||
        !upstream_->send_zero_copy(link_, *rdma, call.lane, header, part)) {
      link_.lane(call.lane).send(header, {part});
    }
  } while (!piece.empty());
}

void ServerStream::finish_reply(thrift::Outcome outcome) {
  const ServedCall call = calls_.front();
  worker_.keep_polling(call.polling);
  count(call, static_cast<CallOutcome>(outcome));
  reply_begun_ = false;
  calls_.pop_front();
  if (call.cancelled || !call.request_complete) {
    // After half of a request, or for a caller that gave up, the connection cannot carry another
    // call.
    request_open_ = request_open_ && call.request_complete;
    return lose_upstream(Failure::kUpstreamClosed, true, "an earlier request was cut short");
  }
  if (pooled_ && upstream_ && calls_.empty()) {  // the next call may share a connection again
    grant(upstream_->backlog());
    close_upstream();
  }
  advance();
}

void ServerStream::send_raw(Bytes bytes) {
  while (!bytes.empty()) {
    const Bytes piece = bytes.first(std::min<size_t>(bytes.size(), engine::kPieceBytesMax));
    bytes = bytes.subspan(piece.size());
    send_credit_ -= static_cast<int64_t>(piece.size());
    lane().send({.kind = FrameKind::kRaw, .stream = id_, .credit = window_.grant()}, {piece});
  }
}

// Returns the failure as the peer knows it: an older peer knows fewer reasons.
Failure ServerStream::as_told(Failure failure) const {
  const bool known = failure != Failure::kPermissionDenied ||
                     link_.session->peer().version_max >= engine::kLinkVersionOfDenials;
  return known ? failure : Failure::kUnknownService;
}

void ServerStream::send_fail(const ServedCall& call, Failure failure, bool delivered,
                             std::string_view detail) {
  worker_.counters().local_replies[static_cast<size_t>(failure)].add();
  if (call.request_complete && call.replies == 0) worker_.counters().oneway_dropped.add();
  count(call, CallOutcome::kLocalError);
  const engine::FailMeta meta{as_told(failure), delivered};
  const uint16_t due = call.is_due() ? 1 : 0;
  link_.lane(call.lane).send(
      {.kind = FrameKind::kFail, .replies = due, .stream = id_, .call = call.ordinal},
      {std::as_bytes(std::span(&meta, 1)), std::as_bytes(std::span(detail))});
}

void ServerStream::send_control(FrameKind kind) { lane().send({.kind = kind, .stream = id_}, {}); }

engine::Lane& ServerStream::lane() const { return link_.lane(lane_); }

// Reports that a call on this lane ends without an answer, because the other side of an RDMA lane
// counts it.
void ServerStream::end_due(uint32_t lane) {
  if (lane == 0) return;
  link_.lane(lane).send({.kind = FrameKind::kCredit, .replies = 1, .stream = id_}, {});
}

void ServerStream::end_all_due() {
  for (size_t i = 0; i < calls_.size(); ++i) {
    if (calls_[i].is_due()) end_due(calls_[i].lane);
  }
}

// The session carries the credit, whichever lane the stream uses: if it were a lane that fails
// after the stream has left it, the credit would be lost.
void ServerStream::grant(size_t bytes) {
  const size_t ahead = std::min(bytes, granted_ahead_);
  granted_ahead_ -= ahead;
  window_.pass_on(bytes - ahead);
  if (!window_.worth_a_frame()) return;
  link_.lane(0).send({.kind = FrameKind::kCredit, .stream = id_, .credit = window_.grant()}, {});
}

// Grants credit for bytes of a request that is held until all of it has arrived. The peer may send
// the rest although the held bytes have not been passed on; otherwise the two sides would wait for
// each other.
void ServerStream::grant_ahead(size_t bytes) {
  granted_ahead_ += bytes;
  window_.pass_on(bytes);
  if (!window_.worth_a_frame()) return;
  link_.lane(0).send({.kind = FrameKind::kCredit, .stream = id_, .credit = window_.grant()}, {});
}

void ServerStream::count(const ServedCall& call, CallOutcome outcome) {
  FunctionCounters& counters = *call.counters;
  counters.requests[static_cast<size_t>(outcome)].add();
  counters.request_bytes.add(call.request_bytes);
  counters.response_bytes.add(call.response_bytes);
  if (outcome <= CallOutcome::kApplicationException) {
    counters.latency.observe(worker_.reactor().now() - call.started);
  }
}

void ServerStream::close_if_done() {
  give_back_queue();
  if (closed_ || !client_ended_ || server_ == Server::kAttaching) return;
  if (!idle() || (upstream_ && !upstream_->connected())) return;
  if (opaque_ && server_ != Server::kEnded && upstream_) return;
  close();
}

// Gives a shared connection back to the pool at once, before the stream is destroyed.
void ServerStream::close() {
  closed_ = true;
  if (pooled_) pooled_->drop();
  worker_.defer_delete(link_, id_);
}

void ServerStream::reset() { reset(Failure::kUpstreamClosed, ""); }

void ServerStream::reset(Failure failure, std::string_view detail) {
  if (closed_) return;
  note_if_opaque(failure, detail);
  end_all_due();
  const engine::FailMeta meta{as_told(failure), 1};
  lane().send({.kind = FrameKind::kReset, .stream = id_},
              {std::as_bytes(std::span(&meta, 1)), std::as_bytes(std::span(detail))});
  close();
}

void ServerStream::stop_waiting() {
  if (pooled_) pooled_->stop_waiting();
}

void ServerStream::on_lane_lost(const std::string& reason) {
  lane_ = 0;
  reset(Failure::kLinkLost, "RDMA lane: " + reason);
}

void ServerStream::on_link_lost(const std::string& reason) {
  if (closed_) return;
  note_if_opaque(Failure::kLinkLost, reason);
  closed_ = true;
  if (pooled_) pooled_->drop();
}

void ServerStream::note_if_opaque(Failure failure, std::string_view detail) {
  if (!opaque_) return;
  const std::string& peer = link_.session->peer().node;
  note_opaque_failure(worker_.counters(), Side::kServer,
                      "service " + served_.service + " for peer " + peer, failure, detail);
}

}  // namespace hat
