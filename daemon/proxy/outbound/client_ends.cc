// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/outbound/client_ends.cc: how a client connection ends: by the client's FIN, after
// the last answer, or without answers.
#include <glog/logging.h>

#include <algorithm>

#include "daemon/proxy/worker.h"

namespace hat {

using engine::FrameKind;

void ClientConnection::advance_to(Life next) {
  DCHECK(life_ < next) << "a connection's life only goes forward";
  life_ = next;
}

// --- The client's FIN ---

// Handles the client's FIN. If earlier input still waits to be handled, or the connection to the
// server is moving, only stops reading from the client; resume() later calls this function again.
void ClientConnection::on_end_of_input() {
  if (input_ == Input::kOpen) input_ = Input::kEnded;
  want_read(false);
  if (wait_ != Wait::kNone || stream_.moves() || !backlog_.empty())
    return;  // resume() calls this function again
  if (mode_ == Mode::kCalls) reader_.end(*this);
  if (over() || waits_for_link()) return;
  if (mode_ == Mode::kCalls && current_ != nullptr) {
    // The FIN arrived in the middle of a request, so the request gets no answer.
    Call& call = *current_;
    leave_current();
    note_ended(call, CallOutcome::kUnknown, worker_.reactor().now());
    if (call.sent) stream_.send_control(FrameKind::kCancel, call.ordinal);
    call.counters->requests[static_cast<size_t>(CallOutcome::kUnknown)].add();
    DCHECK_EQ(&call, &calls_[calls_.size() - 1]);
    calls_.pop_back();
    stream_.set_unanswered(calls_.size());
  }
  close_if_done();
  if (!over()) pass_end();
}

// Passes the client's FIN to the peer daemon, which passes it to the server if the client has a
// connection to the server of its own. So the server can stop work for a client that has gone.
void ClientConnection::pass_end() {
  if (input_ == Input::kPassedOn) return;
  input_ = Input::kPassedOn;
  stream_.send_control(FrameKind::kEnd);
  if (mode_ == Mode::kCalls) worker_.deadlines().set(*this, kServerEndWait);
}

// Ends the connection if all unanswered calls, or all calls before a failed call, may be oneway,
// because such calls may never get a reply. Otherwise waits for another kServerEndWait, because the
// oldest call that cannot be oneway gets a reply or fails.
void ClientConnection::on_server_end_wait() {
  const bool nothing_is_sure = calls_.may_all_be_oneway(calls_.size()) || calls_.holds_up_failure();
  // A request that waits for a lane counts as not begun, because no part of it was sent.
  const bool between_calls = current_ == nullptr || waits_for_lane();
  if (between_calls && nothing_is_sure) return end_without_answers();
  worker_.deadlines().set(*this, kServerEndWait);
}

// --- The end ---

void ClientConnection::end_after_answers() {
  if (life_ != Life::kOpen) return;
  advance_to(Life::kEnding);
  if (!waits_for_link()) worker_.deadlines().set(*this, kServerEndWait);
}

// Ends the calls in flight without an answer, in this daemon and at the peer, and then the client's
// connection. Answers that wait to be written to the client are written first. But if a part of a
// reply has arrived, the connection is reset at once, because this reply cannot be completed.
// `late`: a call whose deadline has passed; or null.
void ClientConnection::end_without_answers(const Call* late) {
  if (over()) return;
  const bool cut = !calls_.empty() && calls_.front().reply_started;
  leave_stream(FrameKind::kReset);
  if (cut) return close(true);
  if (waits_for_link()) stop_waiting();
  leave_current();
  forget_calls(late);
  end_after_answers();
  close_if_done();
}

void ClientConnection::close_if_done() {
  if (over() || taking_ || !out_.empty()) return;
  if (mode_ == Mode::kOpaque) {
    if (far_end_ == FarEnd::kEnded) {
      far_end_ = FarEnd::kPassedOn;
      client_->shutdown_write();
    }
    if (far_end_ != FarEnd::kOpen && input_ != Input::kOpen) close(false);
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
  client_->shutdown_write();
  want_read(true);
  worker_.deadlines().set(*this, kLingerTime);
}

void ClientConnection::drop_input() {
  for (int i = 0; i < 4; ++i) {
    const IoResult result = client_->read(worker_.scratch());
    if (result.kind == IoResult::Kind::kWouldBlock) return;
    if (result.kind != IoResult::Kind::kOk) return close(false);
  }
}

// Ends the wait for a link, the deadline, the stream and the calls.
void ClientConnection::let_go() {
  if (waits_for_link()) stop_waiting();
  end();
  leave_current();
  leave_stream(FrameKind::kEnd);
  forget_calls();
}

// Ends the calls without answers. `late`: a call whose deadline has passed; or null.
void ClientConnection::forget_calls(const Call* late) {
  const TimePoint now = worker_.reactor().now();
  for (size_t i = 0; i < calls_.size(); ++i) {
    const Call& call = calls_[i];
    note_ended(call, CallQueue::unanswered_outcome(call), now, &call == late);
  }
  calls_.forget_all();
}

void ClientConnection::close(bool abort) {
  if (life_ == Life::kClosed) return;
  advance_to(Life::kClosed);
  if (abort) leave_stream(FrameKind::kReset);
  let_go();
  stream_.end_bulk();
  if (abort) client_->abort_on_close();
  client_->want_read(false);
  client_->want_write(false);
  worker_.defer_delete(*this);
}

}  // namespace hat
