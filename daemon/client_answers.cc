// daemon/client_answers.cc: the other direction of a client connection: what the peer daemon sends
// becomes the application's bytes, and what it cannot send becomes an exception.
#include <glog/logging.h>

#include <algorithm>
#include <cstring>

#include "daemon/opaque_failure.h"
#include "daemon/thrift/exception_reply.h"
#include "daemon/worker.h"

namespace hat {

using engine::Failure;
using engine::FrameHeader;
using engine::FrameKind;

namespace {

thrift::ExceptionCode exception_code(Failure failure) {
  return failure == Failure::kTooLarge ? thrift::ExceptionCode::kProtocolError
                                       : thrift::ExceptionCode::kInternalError;
}

}  // namespace

void ClientConnection::on_frame(const FrameHeader& header, Bytes payload) {
  send_credit_ += header.credit;
  switch (header.kind) {
    case FrameKind::kReply:
    case FrameKind::kMore:
      on_reply(header, payload);
      break;
    case FrameKind::kFail:
      on_fail(header, payload);
      break;
    case FrameKind::kRaw:
      on_raw(payload);
      break;
    case FrameKind::kEnd:
      on_far_end();
      break;
    case FrameKind::kSynced:
      if (header.call != last_sync_ || !std::exchange(asked_, false)) break;
      taken_ = true;
      break;
    case FrameKind::kReset:
      return on_reset(payload);
    default:  // kCredit; what an acceptor never sends changes nothing
      break;
  }
  if (!closed_ && !reading_) resume();
}

void ClientConnection::on_reply(const FrameHeader& header, Bytes payload) {
  if (!window_.take(payload.size())) return close(true);
  if (calls_.empty() || calls_.front()->ordinal != header.call) {
    return grant(payload.size());  // nobody waits for it any more
  }
  Call& call = *calls_.front();
  call.reply_started = true;
  call.response_bytes += payload.size();
  write(payload, From::kStream);
  if (closed_ || (header.flags & engine::kLastPiece) == 0) return;
  worker_.look_for_more(call.polling);
  note_end(call);
  finish(call,
         static_cast<CallOutcome>((header.flags & engine::kOutcomeMask) >> engine::kOutcomeShift));
  answer_failed_calls();
}

// The peer has answered a call whole: it has taken all that was sent before.
void ClientConnection::note_end(const Call& call) {
  if (call.ordinal != last_sent_ || &call == current_ || cancelled_) return;
  taken_ = true;
}

void ClientConnection::on_fail(const FrameHeader& header, Bytes payload) {
  engine::FailMeta meta;
  if (payload.size() < sizeof meta) return;
  std::memcpy(&meta, payload.data(), sizeof meta);
  const auto text = payload.subspan(sizeof meta);
  if (static_cast<size_t>(meta.failure) >= engine::kFailureCount) return;
  for (size_t i = 0; i < calls_.size(); ++i) {
    // One that failed here was never sent, and has no number of its own.
    if (calls_[i]->ordinal != header.call || calls_[i]->failure) continue;
    if (header.replies != 0) note_end(*calls_[i]);  // else its last piece may be on its way
    return fail(*calls_[i], meta.failure,
                std::string(reinterpret_cast<const char*>(text.data()), text.size()));
  }
}

void ClientConnection::on_raw(Bytes payload) {
  if (!window_.take(payload.size())) return close(true);
  if (mode_ == Mode::kCalls) {
    mode_ = Mode::kOpaque;
    leave_current();
    worker_.counters().opaque_streams.add();
    forget_calls();
  }
  write(payload, From::kStream);
}

void ClientConnection::on_far_end() {
  far_ended_ = true;
  close_if_done();
}

void ClientConnection::on_reset(Bytes payload) {
  peer_->streams.erase(stream_id_);
  engine::FailMeta meta{Failure::kUpstreamClosed, 1};
  if (payload.size() >= sizeof meta) std::memcpy(&meta, payload.data(), sizeof meta);
  if (static_cast<size_t>(meta.failure) >= engine::kFailureCount) return close(true);
  const auto text = payload.subspan(std::min(payload.size(), sizeof meta));
  lose_stream(meta.failure, std::string(reinterpret_cast<const char*>(text.data()), text.size()));
}

void ClientConnection::on_session_lost(const std::string& reason) {
  lose_stream(Failure::kLinkLost, reason);
}

// The stream is gone, and with it the calls that are out on it.
void ClientConnection::lose_stream(Failure failure, const std::string& reason) {
  const PeerLink* peer = peer_;
  forget_stream();
  if (mode_ == Mode::kOpaque) {
    const std::string where = peer == nullptr ? "" : "peer " + peer->link->peer() + ": ";
    return fail_opaque(failure, where + reason);
  }
  // All are marked before any is answered: answering ends calls, and may end the connection.
  for (size_t i = 0; i < calls_.size(); ++i) {
    Call& call = *calls_[i];
    if (call.failure || !call.sent) continue;
    call.failure = failure;
    call.failure_detail = reason;
    if (&call == current_) {
      leave_current();
      discarding_ = failure;
    }
  }
  answer_failed_calls();
  if (closed_) return;
  if (current_ != nullptr && !waiting_) {  // none of it was sent: it goes another way
    if (!find_way(*current_)) return;
  }
  resume();
}

void ClientConnection::fail(Call& call, Failure failure, std::string detail) {
  if (call.failure) return;
  call.failure = failure;
  call.failure_detail = std::move(detail);
  if (&call == current_) {
    leave_current();
    discarding_ = failure;
  }
  answer_failed_calls();
}

// Nobody can be answered there: the application sees a reset.
void ClientConnection::fail_opaque(Failure failure, const std::string& detail) {
  if (closed_) return;
  const EndpointConfig& endpoint = worker_.node().endpoints[endpoint_];
  note_opaque_failure(worker_.counters(), Side::kClient,
                      "endpoint " + to_string(endpoint.listen) + " of " + endpoint.service, failure,
                      detail);
  close(true);
}

void ClientConnection::answer_failed_calls() {
  while (!closed_ && !calls_.empty() && calls_.front()->failure) {
    Call& call = *calls_.front();
    if (call.reply_started) return close(true);  // a cut reply cannot be mended
    worker_.counters().local_replies[static_cast<size_t>(*call.failure)].add();
    if (call.replies == 0) worker_.counters().oneway_dropped.add();
    write_exceptions(call);
    if (!closed_) finish(call, CallOutcome::kLocalError);
  }
}

void ClientConnection::write_exceptions(const Call& call) {
  if (call.replies == 0) return;
  const std::string text = "hatrpcd: " + std::string(engine::text(*call.failure).token) +
                           (call.failure_detail.empty() ? "" : ": " + call.failure_detail);
  const auto answer = [&](const KeptHead& head) {
    if (closed_) return;
    const thrift::ExceptionReply reply(head.get(), exception_code(*call.failure), text);
    write(reply.bytes(), From::kSelf);
  };
  answer(call.head);
  for (const KeptHead& head : call.more_heads) answer(head);
}

void ClientConnection::finish(Call& call, CallOutcome outcome) {
  FunctionCounters& counters = *call.counters;
  counters.requests[static_cast<size_t>(outcome)].add();
  counters.request_bytes.add(call.request_bytes);
  counters.response_bytes.add(call.response_bytes);
  if (call.replies != 0) counters.latency.observe(worker_.reactor().now() - call.started);
  calls_.pop_front();
  if (&call == current_) {  // answered before its request was complete
    leave_current();
    discarding_ = Failure::kUpstreamClosed;
  }
  give_back(call);
  close_if_done();
}

void ClientConnection::forget_calls() {
  for (size_t i = 0; i < calls_.size(); ++i) {
    calls_[i]->counters->requests[static_cast<size_t>(CallOutcome::kUnknown)].add();
    give_back(*calls_[i]);
  }
  calls_.clear();
}

void ClientConnection::write(Bytes bytes, From from) {
  if (from == From::kSelf) ungranted_ += bytes.size();
  if (out_.empty()) {
    const iovec one{const_cast<std::byte*>(bytes.data()), bytes.size()};
    const IoResult result = stream_->write({&one, 1});
    if (result.kind == IoResult::Kind::kError) return close(true);
    if (result.kind == IoResult::Kind::kOk) {
      wrote(result.bytes);
      bytes = bytes.subspan(result.bytes);
    }
    if (bytes.empty()) return;
    stream_->want_write(true);
  }
  out_.append(bytes);
  worker_.buffered(static_cast<int64_t>(bytes.size()));
}

void ClientConnection::on_writable() {
  while (!out_.empty()) {
    const Bytes bytes = out_.bytes();
    const iovec one{const_cast<std::byte*>(bytes.data()), bytes.size()};
    const IoResult result = stream_->write({&one, 1});
    if (result.kind == IoResult::Kind::kError) return close(true);
    if (result.kind != IoResult::Kind::kOk) return;
    worker_.buffered(-static_cast<int64_t>(result.bytes));
    out_.consume(result.bytes);
    wrote(result.bytes);
  }
  stream_->want_write(false);
  close_if_done();
  if (!closed_) resume();
}

void ClientConnection::wrote(size_t bytes) {
  const size_t own = std::min(bytes, ungranted_);
  ungranted_ -= own;
  grant(bytes - own);
}

void ClientConnection::grant(size_t bytes) {
  window_.pass_on(bytes);
  if (!window_.worth_a_frame() || stream_id_ == 0 || !peer_->link->up()) return;
  // By the link, whatever lane the stream is on: a lane that fails after the stream has left it
  // must not take credit with it.
  peer_->link->lane().send(
      {.kind = FrameKind::kCredit, .stream = stream_id_, .credit = window_.grant()}, {});
}

void ClientConnection::close_if_done() {
  if (closed_ || taking_ || !out_.empty()) return;
  if (mode_ == Mode::kOpaque) {
    if (far_ended_ && !std::exchange(output_ended_, far_ended_)) stream_->shutdown_write();
    if (far_ended_ && input_ended_) close(false);
  } else if (input_ended_ && calls_.empty() && backlog_.empty()) {
    close(false);
  }
}

void ClientConnection::close(bool abort) {
  if (closed_) return;
  closed_ = true;
  if (waiting_) stop_waiting();
  leave_stream(abort ? FrameKind::kReset : FrameKind::kEnd);
  leave_current();
  forget_calls();
  lender_.end();
  if (abort) stream_->abort_on_close();
  stream_->want_read(false);
  stream_->want_write(false);
  worker_.bury(*this);
}

}  // namespace hat
