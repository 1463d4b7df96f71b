// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/inbound/server_sharing.cc: a stream of a shared service: its calls, one at a time,
// on connections that other streams use too.
#include <algorithm>
#include <string_view>

#include "daemon/proxy/worker.h"
#include "daemon/thrift/envelope.h"

namespace hat {

using engine::Failure;

bool ServerStream::may_share(const ServedCall& call) const {
  return call.listed != Listed::kNot &&
         call.held_bytes <= worker_.node().limits.shared_request_bytes_max;
}

// Returns true for an empty frame, which has no message. Some clients send one.
bool ServerStream::is_empty_frame(const ServedCall& call) const {
  constexpr size_t kLengthBytes = 4;
  return call.request_complete && call.replies == 0 && call.held_bytes == kLengthBytes &&
         std::ranges::all_of(held_.bytes().first(kLengthBytes),
                             [](std::byte one) { return one == std::byte{0}; });
}

// Processes calls from the front of the queue until one must wait.
void ServerStream::advance_pooled() {
  while (!closed_ && !calls_.empty() && !upstream_) {
    ServedCall& call = calls_.front();
    if (pooled_->busy()) {
      if (!call.cancelled) return;
      pooled_->drop();  // and closes its connection, on which a reply is due
      reply_begun_ = false;
    }
    if (call.cancelled) {
      grant(drop_held(call));
      if (call.is_due()) end_due(call.lane);
      count(call, CallOutcome::kUnknown);
      calls_.pop_front();
    } else if (is_empty_frame(call)) {
      grant(drop_held(call));
      count(call, CallOutcome::kOneway);
      calls_.pop_front();
    } else if (call.must_wait()) {
      return;
    } else if (!may_share(call)) {
      take_own();
    } else if (!call.request_complete) {
      if (granted_ahead_ < call.held_bytes) grant_ahead(call.held_bytes - granted_ahead_);
      return;
    } else {
      ask_pooled(call);
    }
  }
  if (!closed_) close_if_done();
}

// Fails the front call, of which the server has received nothing.
void ServerStream::refuse_front(Failure failure, std::string_view detail) {
  ServedCall& call = calls_.front();
  if (!call.request_complete) request_open_ = false;
  grant(drop_held(call));
  send_fail(call, failure, false, detail);
  calls_.pop_front();
}

// Passes the unanswered calls to a connection that the stream has alone.
void ServerStream::take_own() {
  if (!ensure_upstream()) {
    return refuse_front(Failure::kOverloaded,
                        served_.service + " has reached its limit of upstream connections");
  }
  pass_held();
  if (!closed_) advance();
}

void ServerStream::ask_pooled(ServedCall& call) {
  thrift::MessageReader reader;
  const auto request = thrift::read_whole(reader, held_.bytes().first(call.held_bytes));
  if (!request || call.replies > 1) {
    return refuse_front(Failure::kNotOneMessage,
                        served_.service +
                            " is served by shared connections, and takes one whole "
                            "message at a time");
  }
  // The server reads the function's name from the message, and the manifest says whether the
  // function has a reply. Neither the peer's claim nor the message's own type counts.
  const std::string_view name = reader.head().name;
  const size_t colon = name.find(':');
  const Route& route = route_of(colon == std::string_view::npos ? "" : name.substr(0, colon),
                                thrift::bare_name(name));
  if (!route.listed) return take_own();
  call.listed = route.oneway ? Listed::kOneway : Listed::kTwoWay;
  pooled_->ask(*request, route.oneway ? PooledCall::Reply::kNone : PooledCall::Reply::kExpected);
}

Bytes ServerStream::pooled_request() { return held_.bytes().first(calls_.front().held_bytes); }

void ServerStream::on_pooled_request_sent() {
  ServedCall& call = calls_.front();
  call.handed_over = true;
  grant(drop_held(call));
  if (call.listed != Listed::kOneway) return;
  end_without_reply();
}

void ServerStream::on_pooled_answer() { send_pooled_answer(); }

// Sends as much of the answer as the peer takes now.
void ServerStream::send_pooled_answer() {
  while (!closed_ && !calls_.empty() && calls_.front().handed_over) {
    const bool whole = pooled_->answer_is_whole();
    const Bytes answer = pooled_->answer();
    if (!whole && answer.empty()) return;
    const bool wanted = calls_.front().replies != 0;
    const size_t space = wanted ? read_budget() : answer.size();
    if (space == 0) return;
    const Bytes piece = answer.first(std::min(answer.size(), space));
    const bool last = whole && piece.size() == answer.size();
    const thrift::Outcome outcome = pooled_->outcome();
    if (wanted) send_reply(piece, last, outcome);
    pooled_->take_answer(piece.size());
    if (!last) continue;
    finish_reply(outcome);
  }
}

void ServerStream::on_pooled_failure(Failure failure, bool delivered, const std::string& detail) {
  if (closed_) return;
  const ServedCall& call = calls_.front();
  if (reply_begun_ && !call.cancelled) return reset(failure, detail);
  reply_begun_ = false;
  grant(drop_held(calls_.front()));
  if (call.cancelled) {
    if (call.is_due()) end_due(call.lane);
    count(call, CallOutcome::kUnknown);
  } else {
    send_fail(call, failure, delivered, detail);
  }
  calls_.pop_front();
  advance_pooled();
}

}  // namespace hat
