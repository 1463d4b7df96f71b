// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/outbound/client_ends.cc: how a client connection ends: by its application's FIN,
// after the last answer, or without answers.
#include <glog/logging.h>

#include <algorithm>

#include "daemon/proxy/worker.h"

namespace hat {

using engine::FrameKind;

void ClientConnection::advance_to(Life next) {
  DCHECK(life_ < next) << "a connection's life only goes forward";
  life_ = next;
}

// --- The application's end ---

// Called again whenever the reason for a delay may have gone.
void ClientConnection::on_end_of_input() {
  if (input_ == Input::kOpen) input_ = Input::kEnded;
  want_read(false);
  if (waiting_ || switches_ || moves() || !backlog_.empty()) return;  // resume() comes back here
  if (mode_ == Mode::kCalls) reader_.end(*this);
  if (over() || waiting_) return;
  if (mode_ == Mode::kCalls && current_ != nullptr) {
    // The application left in the middle of a request, so the request gets no answer.
    Call& call = *current_;
    leave_current();
    if (call.sent) send_control(FrameKind::kCancel, call.ordinal);
    call.counters->requests[static_cast<size_t>(CallOutcome::kUnknown)].add();
    calls_.pop_back();
    give_back(call);
  }
  close_if_done();
  if (!over()) pass_end();
}

// Passes the FIN to the server at once, as a TCP relay does: the server may stop work whose result
// no client waits for.
void ClientConnection::pass_end() {
  if (input_ == Input::kPassedOn) return;
  input_ = Input::kPassedOn;
  send_control(FrameKind::kEnd);
  if (mode_ == Mode::kCalls) worker_.deadlines().set(*this, kServerEndWait);
}

// Ends the connection if only calls that may be oneway keep it open, since those may never end.
// Every other call gets a reply or a failure.
void ClientConnection::on_server_end_wait() {
  const bool nothing_is_sure = may_all_be_oneway(calls_.size()) || holds_up_failure();
  // While a request waits (switches_) for earlier calls, which may have no reply, no part of it was
  // sent.
  const bool between_calls = current_ == nullptr || switches_;
  if (between_calls && nothing_is_sure) return end_without_answers();
  worker_.deadlines().set(*this, kServerEndWait);
}

// --- The end ---

void ClientConnection::end_after_answers() {
  if (life_ != Life::kOpen) return;
  advance_to(Life::kEnding);
  if (!waiting_) worker_.deadlines().set(*this, kServerEndWait);
}

// Ends the calls in flight without an answer, here and at the peer. Answers that were already
// written are still sent.
void ClientConnection::end_without_answers() {
  if (over()) return;
  const bool cut = !calls_.empty() && calls_.front()->reply_started;
  leave_stream(FrameKind::kReset);
  if (cut) return close(true);
  if (waiting_) stop_waiting();
  leave_current();
  forget_calls();
  end_after_answers();
  close_if_done();
}

void ClientConnection::close_if_done() {
  if (over() || taking_ || !out_.empty()) return;
  if (mode_ == Mode::kOpaque) {
    if (far_ended_ && !std::exchange(output_ended_, far_ended_)) stream_->shutdown_write();
    if (far_ended_ && input_ != Input::kOpen) close(false);
  } else if (!calls_.empty()) {
    return;
  } else if (input_ != Input::kOpen && backlog_.empty()) {
    close(false);
  } else if (life_ == Life::kEnding) {
    linger();
  }
}

void ClientConnection::linger() {
  if (input_ != Input::kOpen) return close(false);
  advance_to(Life::kLingering);
  let_go();
  backlog_.clear();
  count_input();
  stream_->shutdown_write();
  want_read(true);
  worker_.deadlines().set(*this, kLingerTime);
}

void ClientConnection::drop_input() {
  for (int i = 0; i < 4; ++i) {
    const IoResult result = stream_->read(worker_.scratch());
    if (result.kind == IoResult::Kind::kWouldBlock) return;
    if (result.kind != IoResult::Kind::kOk) return close(false);
  }
}

// Releases the deadline, the stream, the calls and the place among the connections that wait for a
// link.
void ClientConnection::let_go() {
  if (waiting_) stop_waiting();
  end();
  leave_current();
  leave_stream(FrameKind::kEnd);
  forget_calls();
}

void ClientConnection::close(bool abort) {
  if (life_ == Life::kClosed) return;
  advance_to(Life::kClosed);
  if (abort) leave_stream(FrameKind::kReset);
  let_go();
  bulk_.end();
  if (abort) stream_->abort_on_close();
  stream_->want_read(false);
  stream_->want_write(false);
  worker_.defer_delete(*this);
}

}  // namespace hat
