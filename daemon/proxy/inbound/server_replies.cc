// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/inbound/server_replies.cc: the replies of a stream from a peer: reads the local
// server's bytes, and sends them to the peer daemon as replies to the stream's calls.
#include <algorithm>

#include "daemon/proxy/opaque_failure.h"
#include "daemon/proxy/worker.h"

namespace hat {

using engine::Failure;

size_t ServerStream::read_budget() {
  // While the connection moves to another stream, this stream reads only the rest of the current
  // reply. The other stream reads later bytes.
  if (binding_.is(ServerBinding::State::kDetaching) && !upstream_->replies().inside_unit()) {
    return 0;
  }
  // Between calls the stream waits by the priority of its last call.
  if (!calls_.empty()) set_priority(calls_.front().priority);
  return std::min(stream_.budget(), worker_.scratch().size());
}

void ServerStream::read_if_space() {
  if (upstream_) upstream_->want_read(read_budget() != 0);
}

void ServerStream::on_space() {
  read_if_space();
  if (pooled_ && !stream_.is_closed()) send_pooled_answer();
}

// The lane of the stream takes bytes again. Reads at once, because the lane serves the next stream
// when this function returns.
void ServerStream::on_turn() {
  constexpr size_t kReadsMax = engine::SendTurns::kTurnBytes / 4096;
  worker_.flush_again();
  on_space();
  for (size_t i = 0; i < kReadsMax && upstream_ && upstream_->read_now();) ++i;
}

void ServerStream::on_upstream_bytes(Bytes bytes) {
  // A server that replies has usually read the request before. So the reply can carry its credit.
  const bool renews = stream_.withholds_much();
  if (renews) stream_.withhold(upstream_->shortage());
  if (is_opaque()) {
    stream_.send_raw(bytes);
  } else {
    upstream_->replies().feed(bytes, *this);
  }
  if (stream_.is_closed()) return;
  if (renews) stream_.grant(0);  // if no frame has carried the credit
  read_if_space();
}

bool ServerStream::on_head(const thrift::Head& head) {
  using What = ServedCalls::Answered::What;
  if (upstream_->drops_reply()) return true;
  const ServedCalls::Answered answered = calls_.answered_by(head, *upstream_);
  switch (answered.what) {
    case What::kCall:
      for (size_t i = 0; i < answered.call; ++i) end_without_reply();
      ++calls_.front().replies_seen;
      return true;
    case What::kOnewayCall:
      upstream_->drop_reply();
      worker_.counters().unsolicited_replies.add();
      return true;
    case What::kNothing:
      break;
  }
  // The reply answers no known call. The connection must close, because the daemon could not know
  // which calls later replies answer.
  worker_.counters().unsolicited_replies.add();
  lose_upstream(Failure::kUpstreamClosed, true,
                upstream_text(served_->config) +
                    ": the server sent a reply that answers no call; its connection is closed");
  return false;
}

bool ServerStream::on_piece(Bytes piece, bool last) {
  const UpstreamConnection* const from = upstream_.get();
  if (upstream_->drops_reply()) {
    if (last) upstream_->end_dropped_reply();
    return true;
  }
  if (calls_.empty()) return true;  // an empty Thrift frame, which answers no call
  ServedCall& call = calls_.front();
  const bool complete = last && call.replies_seen >= (call.is_complete() ? call.replies : 1);
  const thrift::Outcome outcome = upstream_->replies().messages().outcome();
  stream_.send_reply(call, piece, {complete, outcome, worker_.reactor().now()}, upstream_.get());
  if (complete) finish_reply(outcome);
  // Stops reading replies if the stream has closed this connection: its remaining bytes do not
  // answer calls that were written to another connection.
  return !stream_.is_closed() && upstream_.get() == from;
}

void ServerStream::on_opaque(Bytes bytes) {
  if (guard_.is_restricted()) {
    return reset(Failure::kUpstreamClosed, guard_.caller() +
                                               " may not call all functions, and the server sent "
                                               "bytes that cannot be followed as Thrift");
  }
  become_opaque();
  stream_.send_raw(bytes);
  write_held();  // also passes on the client's FIN, if it has arrived
}

void ServerStream::finish_reply(thrift::Outcome outcome) {
  const bool cut_short = calls_.front().is_cancelled() || !calls_.front().is_complete();
  worker_.keep_polling(calls_.front().polling);
  calls_.end_front(static_cast<CallOutcome>(outcome));
  if (cut_short) {
    // The server has only a part of the request, or the client has given up the call, so the
    // connection cannot carry another call.
    return lose_upstream(Failure::kUpstreamClosed, true,
                         "the client gave up an earlier request before all of it was sent");
  }
  if (pooled_ && upstream_ && calls_.empty()) {  // the next call may share a connection again
    const size_t backlog = upstream_->backlog();
    close_upstream();
    grant_as_read(backlog);
  }
  advance();
}

// Ends the oldest call, which was oneway.
void ServerStream::end_without_reply() {
  const ServedCall& call = calls_.front();
  if (call.is_cancelled()) return end_cancelled();
  if (call.replies != 0) stream_.send_no_reply(call);
  if (upstream_) upstream_->note_oneway(call.name_hash);
  calls_.end_front(CallOutcome::kOneway);
}

// Ends the oldest call, which the client has given up.
void ServerStream::end_cancelled() {
  ServedCall& call = calls_.front();
  stream_.grant(calls_.drop_held(call));
  if (call.is_due()) stream_.end_due(call.lane);
  if (call.is_handed_over() && upstream_) upstream_->note_oneway(call.name_hash);
  calls_.end_front(CallOutcome::kUnknown);
}

void ServerStream::refuse_newest(Failure failure, std::string_view detail) {
  stream_.grant(calls_.drop_newest_held());
  send_failure(calls_.back(), failure, calls_.back().is_handed_over(), detail);
  calls_.end_newest(CallOutcome::kLocalError);
}

// Refuses the newest call and resets the stream. The server has at most a part of the newest call,
// but can have executed the other calls, so the two failures differ.
void ServerStream::end_by_newest(Failure failure, const std::string& detail) {
  refuse_newest(failure, detail);
  reset(Failure::kUpstreamClosed, "a later request has ended the connection: " + detail);
}

void ServerStream::send_failure(const ServedCall& call, Failure failure, bool delivered,
                                std::string_view detail) {
  worker_.counters().local_replies[static_cast<size_t>(failure)].add();
  if (call.is_complete() && call.replies == 0) worker_.counters().oneway_dropped.add();
  stream_.send_failure(call, failure, delivered, detail);
}

void ServerStream::fail_front(Failure failure, bool delivered, std::string_view detail) {
  ServedCall& call = calls_.front();
  stream_.grant(calls_.drop_held(call));
  send_failure(call, failure, delivered, detail);
  calls_.end_front(CallOutcome::kLocalError);
}

void ServerStream::end_all_due() {
  for (size_t i = 0; i < calls_.size(); ++i) {
    if (calls_[i].is_due()) stream_.end_due(calls_[i].lane);
  }
}

}  // namespace hat
