// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/inbound/server_sharing.cc: a stream of a service in shared mode, whose calls use
// connections that other streams use too.
#include <algorithm>
#include <string_view>

#include "daemon/proxy/worker.h"
#include "daemon/thrift/envelope.h"

namespace hat {

using engine::Failure;

namespace {

// Returns true if the call may use a shared connection.
bool may_share(const ServedCall& call, const Limits& limits) {
  return call.listed != ServedCall::Listed::kNot &&
         call.held_bytes <= limits.shared_request_bytes_max;
}

// Returns true if the call is an empty Thrift frame, which has no message. `held` are the held
// bytes of the call.
bool is_empty_frame(const ServedCall& call, Bytes held) {
  constexpr size_t kLengthBytes = 4;
  return call.is_complete() && call.replies == 0 && held.size() == kLengthBytes &&
         std::ranges::all_of(held, [](std::byte one) { return one == std::byte{0}; });
}

}  // namespace

// Makes later calls use the present server of the service, after a reload has replaced it, if no
// call and no connection of this stream is left with the old server.
void ServerStream::use_current_server() {
  const bool is_free =
      calls_.empty() && !upstream_ && binding_.is(ServerBinding::State::kAny) &&
      (!pooled_ || (!pooled_->busy() && (!pooled_->parked() || pooled_->can_give_up())));
  auto next = is_free ? worker_.find_served(served_->config.service) : nullptr;
  if (!next) return;
  served_ = std::move(next);
  guard_.use(served_);
  set_group(served_->number);
  PooledCallEvents& events = *this;
  pooled_ = served_->config.mode == UpstreamMode::kShared
                ? std::make_unique<PooledCall>(worker_, served_, *share_, events)
                : nullptr;
}

// Returns true if a reload has removed the service. Then calls that are in flight end, and later
// calls are refused: the present manifests may have no `allow` rules for the service.
bool ServerStream::is_removed() const {
  return !served_->is_current && !worker_.find_served(served_->config.service);
}

std::string ServerStream::removed_text() const {
  return "node " + worker_.node().node + " does not serve '" + served_->config.service +
         "' any more";
}

// Processes calls from the front of the queue until one must wait.
void ServerStream::advance_pooled() {
  while (!stream_.is_closed() && !calls_.empty() && !upstream_) {
    ServedCall& call = calls_.front();
    if (pooled_->busy()) {
      if (!call.is_cancelled()) return;
      pooled_->drop();  // also closes its connection, on which a reply is expected
    }
    if (call.is_cancelled()) {
      end_cancelled();
    } else if (is_empty_frame(call, calls_.held(call))) {
      stream_.grant(calls_.drop_held(call));
      calls_.end_front(CallOutcome::kOneway);
    } else if (call.must_wait()) {
      return;
    } else if (!may_share(call, worker_.node().limits)) {
      take_own();
    } else if (!call.is_complete()) {
      return stream_.grant_ahead(call.held_bytes);
    } else {
      ask_pooled(call);
    }
  }
  close_if_done();
}

// Opens a connection that only this stream uses, and passes all held calls to it. At this moment no
// call of this stream is on a shared connection. If the service has reached its limit of
// connections, fails the first held call.
void ServerStream::take_own() {
  if (!ensure_upstream()) {
    return fail_front(Failure::kOverloaded, false,
                      served_->config.service + " has reached its limit of upstream connections");
  }
  pass_all_held();
  advance();
}

void ServerStream::ask_pooled(ServedCall& call) {
  thrift::MessageReader reader;
  const auto request = thrift::read_whole(reader, calls_.held(call));
  if (!request || call.replies > 1) {
    return fail_front(Failure::kNotOneMessage, false,
                      served_->config.service +
                          " uses shared connections, so each request must be exactly one "
                          "Thrift message");
  }
  // Reads the function's name from the message, as the server does, and not from the peer's kCall
  // frame. The manifest, and not the message's type, determines whether the function has a reply.
  const std::string_view name = reader.head().name;
  const size_t colon = name.find(':');
  const Route& route = guard_.route_of(colon == std::string_view::npos ? "" : name.substr(0, colon),
                                       thrift::bare_name(name));
  if (!route.listed) return take_own();
  call.listed = route.oneway ? ServedCall::Listed::kOneway : ServedCall::Listed::kTwoWay;
  call.priority = route.server.priority;
  pooled_->ask(*request, route.oneway ? PooledCall::Reply::kNone : PooledCall::Reply::kExpected,
               call.priority);
}

Bytes ServerStream::pooled_request() { return calls_.held(calls_.front()); }

void ServerStream::on_pooled_request_sent() {
  ServedCall& call = calls_.front();
  call.hand_over(worker_.reactor().now());
  stream_.grant(calls_.drop_held(call));
  if (call.listed == ServedCall::Listed::kOneway) end_without_reply();
}

void ServerStream::on_pooled_answer() {
  if (!calls_.empty()) calls_.front().note_answer(worker_.reactor().now());
  send_pooled_answer();
}

// Sends as many bytes of the reply as the peer takes now.
void ServerStream::send_pooled_answer() {
  while (!stream_.is_closed() && !calls_.empty() && calls_.front().is_handed_over()) {
    ServedCall& call = calls_.front();
    const bool whole = pooled_->answer_is_whole();
    const Bytes answer = pooled_->answer();
    if (!whole && answer.empty()) return;
    const bool wanted = call.replies != 0;
    const size_t space = wanted ? read_budget() : answer.size();
    if (space == 0) return;
    const Bytes piece = answer.first(std::min(answer.size(), space));
    const bool last = whole && piece.size() == answer.size();
    const thrift::Outcome outcome = pooled_->outcome();
    if (wanted) stream_.send_reply(call, piece, {last, outcome, worker_.reactor().now()}, nullptr);
    pooled_->take_answer(piece.size());
    if (last) finish_reply(outcome);
  }
}

void ServerStream::on_pooled_failure(Failure failure, bool delivered, const std::string& detail) {
  if (stream_.is_closed()) return;
  const ServedCall& call = calls_.front();
  if (call.is_cancelled()) {
    end_cancelled();
  } else if (call.is_answering()) {
    return reset(failure, detail);
  } else {
    fail_front(failure, delivered, detail);
  }
  advance_pooled();
}

}  // namespace hat
