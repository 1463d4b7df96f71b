// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/outbound/client_answers.cc: writes answers to the client: the replies that the peer
// daemon sends, and exceptions for calls that failed.
#include <glog/logging.h>

#include <algorithm>
#include <cstring>

#include "daemon/proxy/opaque_failure.h"
#include "daemon/proxy/worker.h"
#include "daemon/thrift/exception_reply.h"
#include "engine/link/said_by_peer.h"

namespace hat {

using engine::Failure;
using engine::FrameHeader;
using engine::FrameKind;

namespace {

thrift::ExceptionCode exception_code(Failure failure) {
  return failure == Failure::kTooLarge ? thrift::ExceptionCode::kProtocolError
                                       : thrift::ExceptionCode::kInternalError;
}

// Returns true if the time from the beginning of `call` to its end with `outcome` is a time that
// the call took. The end of a call without a reply is late or early for reasons of its own: for
// example, a call that may be oneway ends unknown when its client leaves, long after the server has
// executed it.
bool has_time(const Call& call, CallOutcome outcome) {
  if (call.replies == 0 || outcome == CallOutcome::kOneway) return false;
  return outcome != CallOutcome::kUnknown || call.reply != Reply::kPossible || call.reply_started;
}

struct FailureReport {
  Failure failure;
  bool delivered;  // the server may have seen the call
  std::string detail;
};

// Returns the reason and the text in the payload of a kFail or kReset frame. A newer peer can send
// a reason that this daemon does not know; returns kUpstreamClosed instead of such a reason.
FailureReport report_in(Bytes payload) {
  engine::FailMeta meta{Failure::kUpstreamClosed, 1};
  if (payload.size() >= sizeof meta) std::memcpy(&meta, payload.data(), sizeof meta);
  const bool known = static_cast<size_t>(meta.failure) < engine::kFailureCount;
  const auto text = payload.subspan(std::min(payload.size(), sizeof meta));
  return {known ? meta.failure : Failure::kUpstreamClosed, meta.delivered != 0,
          engine::said_by_peer(text)};
}

}  // namespace

void ClientConnection::on_frame(const FrameHeader& header, Bytes payload, FrameSource source) {
  stream_.note_frame(header, source.lane);
  if (stream_.is_suspended() && !may_come_before_answer(header)) {
    return give_up_stream("the peer has continued without an answer whether frames were lost");
  }
  switch (header.kind) {
    case FrameKind::kReply:
    case FrameKind::kMore:
      on_reply(header, payload, source);
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
    case FrameKind::kBound:
      stream_.on_bound();
      break;
    case FrameKind::kSynced:
      stream_.on_synced(header.call);
      break;
    case FrameKind::kDetached:
      on_detached(payload);
      break;
    case FrameKind::kResumed:
      if (source.lane == 0) on_resumed(payload);
      break;
    case FrameKind::kReset:
      return on_reset(payload);
    default:  // kCredit was handled above; other kinds of frames are ignored
      break;
  }
  detach_if_due();
  if (!over() && !reading_) resume();
}

engine::Landing ClientConnection::landing_for(const FrameHeader& header,
                                              const LandingAsker& asker) {
  if (header.kind != FrameKind::kMore || mode_ == Mode::kOpaque || over() || calls_.empty() ||
      !out_.empty()) {
    return {};
  }
  const Call& call = calls_.front();
  const bool is_ready = call.ordinal == header.call && call.reply_started && !call.failure;
  if (asker.is_next && !is_ready) return {};
  return stream_.landing(*client_, asker, header.payload_bytes);
}

void ClientConnection::on_reply(const FrameHeader& header, Bytes payload, FrameSource source) {
  // The peer may have sent the reply before it knew that the stream is opaque. The reply is then
  // passed on as opaque bytes.
  if (mode_ == Mode::kOpaque) return on_raw(payload);
  if (!stream_.take(payload.size())) return close(true);
  if (calls_.empty() || calls_.front().ordinal != header.call) {
    return stream_.grant(payload.size());  // drops the reply to a call that has ended already
  }
  Call& call = calls_.front();
  const auto outcome = static_cast<uint8_t>(header.flags & engine::kOutcomeMask);
  if (outcome == engine::kNoReply) {
    const bool whole = header.kind == FrameKind::kReply && payload.empty() && !call.reply_started;
    return whole ? on_no_reply(call) : close(true);
  }
  if (!std::exchange(call.reply_started, true)) {
    call.times.replied = worker_.reactor().now();
    call.times.there = engine::served_in(header);
  }
  request_.drop();
  call.response_bytes += payload.size();
  call.pieces.reply.add(static_cast<uint32_t>(payload.size()),
                        [&] { return carrier_of_reply(call.choice, source); });
  const bool last = (header.flags & engine::kLastPiece) != 0;
  if (last) {
    call.way.reply = call.pieces.reply.carrier();
    CallQueue::count_way(call);
  }
  write(payload, From::kStream);
  if (over() || !last) return;
  worker_.keep_polling(call.polling.client);
  endpoint_->ejected.note_success(stream_.peer());
  if (calls_.size() == 1 && &call != current_) stream_.note_reply(call.ordinal);
  note_end(call);
  finish(call, static_cast<CallOutcome>(outcome >> engine::kOutcomeShift));
  answer_failed_calls();
}

// Ends a call to which the server will send no reply: as a oneway call if no manifest lists the
// function, or else as failed.
void ClientConnection::on_no_reply(Call& call) {
  note_end(call);
  if (call.reply != Reply::kPossible) {
    return fail(call, Failure::kUpstreamClosed,
                "the server sent no reply to this call, but answered a later one");
  }
  finish(call, CallOutcome::kOneway);
  answer_failed_calls();
}

// Records that the peer has answered `call`. If the whole request was sent, the answer shows that
// the peer has taken all frames up to the end of this request.
void ClientConnection::note_end(const Call& call) {
  if (&call != current_) stream_.on_answered(call);
}

void ClientConnection::on_fail(const FrameHeader& header, Bytes payload) {
  FailureReport report = report_in(payload);
  // An opaque connection no longer knows its calls, so it fails as a whole.
  if (mode_ == Mode::kOpaque) {
    note_failing_peer(report.failure, nullptr);
    return fail_opaque(report.failure, report.detail);
  }
  for (size_t i = 0; i < calls_.size(); ++i) {
    // Skips calls that have failed in this daemon: the ordinal of such a call can be from an
    // earlier stream, and then equals the ordinal of another call on this stream.
    if (calls_[i].ordinal != header.call || calls_[i].failure) continue;
    // If `replies` of the kFail frame is 0, the last piece of the request may not have arrived at
    // the peer yet. The frame then does not show that the peer has taken the whole request.
    if (header.replies != 0) note_end(calls_[i]);
    note_failing_peer(report.failure, &calls_[i]);
    const Loss loss{report.failure, report.delivered, stream_.may_leave(), &stream_.link()};
    if (try_again(calls_[i], loss)) return;
    return fail(calls_[i], report.failure, std::move(report.detail));
  }
}

void ClientConnection::on_raw(Bytes payload) {
  if (mode_ == Mode::kCalls) become_opaque();
  if (!stream_.take(payload.size())) {
    return fail_opaque(Failure::kUpstreamClosed, "the peer sent more than the stream's window");
  }
  if (life_ == Life::kEnding) {
    return fail_opaque(Failure::kUpstreamClosed,
                       "the server sent bytes that are not a Thrift message, while the connection "
                       "waited only for its last answers");
  }
  endpoint_->ejected.note_success(stream_.peer());
  write(payload, From::kStream);
}

void ClientConnection::on_far_end() {
  if (mode_ == Mode::kCalls) {
    if (stream_.is_bound()) {
      stream_.pin();  // no move, because earlier calls are still answered on this stream
      end_after_answers();
    }
  } else {
    if (far_end_ == FarEnd::kOpen) far_end_ = FarEnd::kEnded;
  }
  close_if_done();
}

void ClientConnection::on_reset(Bytes payload) {
  const FailureReport report = report_in(payload);
  const bool has_call = mode_ == Mode::kCalls && !calls_.empty() && !calls_.front().failure;
  note_failing_peer(report.failure, has_call ? &calls_.front() : nullptr);
  lose_stream(report.failure, report.delivered, report.detail);
}

// Notes a failure that the peer of the stream has reported, or a call without an answer, so that
// clients prefer other peers for a while: at once if the peer has no server for calls, or else
// after failures in a row. `call` is the one that fails; null: the stream, which has no calls.
void ClientConnection::note_failing_peer(Failure failure, const Call* call) {
  if (!stream_.exists() || stream_.link_leaves() || endpoint_->config.peers.size() < 2) return;
  const std::string& peer = stream_.peer();
  const TimePoint now = worker_.reactor().now();
  const std::string_view why = engine::text(failure).token;
  Duration time{0};
  if (failure == Failure::kUpstreamUnreachable || failure == Failure::kUnknownService) {
    time = endpoint_->ejected.eject(peer, now, why);
  } else if (failure == Failure::kUpstreamClosed || failure == Failure::kDeadlineExceeded ||
             failure == Failure::kOverloaded) {
    // The client, not the peer, can be the cause if it has not sent all of the request, or does not
    // read the reply.
    if (call == nullptr || !call->sent || call == current_ || call->reply_started) return;
    time = endpoint_->ejected.note_failure(peer, call->started, now, why);
  }
  if (time == Duration::zero()) return;
  worker_.counters().peer_events.add(peer, PeerEvent::kEjection);
  LOG(WARNING) << "endpoint " << to_string(endpoint_->config.listen)
               << ": calls prefer other peers "
               << "than " << peer << " for "
               << std::chrono::duration_cast<std::chrono::seconds>(time).count()
               << " s, because calls there failed: " << why;
}

void ClientConnection::on_session_lost(const std::string& reason) {
  lose_stream(Failure::kLinkLost, true, reason);
}

// Drops the lost stream, and fails the calls that were sent on it, unless they are sent again.
// `delivered`: the server may have seen them. A call that was not sent can use another stream,
// unless the stream was bound (had an upstream connection of its own). The server's state for this
// client is lost with a bound stream, so then all calls fail.
void ClientConnection::lose_stream(Failure failure, bool delivered, const std::string& reason) {
  const bool was_bound = stream_.is_bound();
  const std::string where = stream_.exists() ? "peer " + stream_.peer() + ": " : "";
  const Loss loss{failure, delivered, stream_.may_leave(),
                  stream_.exists() ? &stream_.link() : nullptr};
  forget_stream();
  if (mode_ == Mode::kOpaque) return fail_opaque(failure, where + reason);
  if (was_bound) end_after_answers();
  if (!calls_.empty() && try_again(calls_.front(), loss)) return;
  // Marks all calls as failed before any call is answered, because an answer removes calls from the
  // queue and can end the connection.
  for (size_t i = 0; i < calls_.size(); ++i) {
    Call& call = calls_[i];
    if (call.failure || (!call.sent && !was_bound)) continue;
    mark_failed(call, failure, reason);
  }
  answer_failed_calls();
  close_if_done();
  if (over()) return;
  if (current_ != nullptr &&
      !waits_for_link()) {  // no part of the current call was sent: it can use another stream
    if (!find_way(*current_)) return;
  }
  resume();
}

void ClientConnection::fail(Call& call, Failure failure, std::string detail) {
  if (call.failure) return;
  mark_failed(call, failure, std::move(detail));
  answer_failed_calls();
}

void ClientConnection::mark_failed(Call& call, Failure failure, std::string detail) {
  calls_.mark_failed(call, failure, std::move(detail));
  if (&call != current_) return;
  const bool is_whole = request_.waits();  // no more of the request arrives
  leave_current();
  if (!is_whole) discarding_ = failure;
}

// Resets the client's connection, because no exception can be sent on an opaque connection.
void ClientConnection::fail_opaque(Failure failure, const std::string& detail) {
  if (life_ == Life::kClosed) return;
  const EndpointConfig& endpoint = endpoint_->config;
  note_opaque_failure(worker_.counters(), Side::kClient,
                      "endpoint " + to_string(endpoint.listen) + " of " + endpoint.service, failure,
                      detail);
  close(true);
}

void ClientConnection::answer_failed_calls() {
  while (!over() && !calls_.empty() && calls_.front().failure) {
    Call& call = calls_.front();
    if (call.reply_started) return close(true);  // a reply that was cut cannot be completed
    worker_.counters().local_replies[static_cast<size_t>(*call.failure)].add();
    if (call.replies == 0) worker_.counters().oneway_dropped.add();
    // The call may be oneway. Its client would then take the exception for the reply to its next
    // call, so the connection ends after the exception.
    if (call.reply == Reply::kPossible) end_after_answers();
    write_exceptions(call);
    if (!over()) finish(call, CallOutcome::kLocalError);
  }
  if (!over() && !set() && calls_.holds_up_failure())
    worker_.deadlines().set(*this, kServerEndWait);
}

void ClientConnection::write_exceptions(const Call& call) {
  if (call.replies == 0) return;
  const std::string text = "hatrpcd: " + std::string(engine::text(*call.failure).token) +
                           (call.failure_detail.empty() ? "" : ": " + call.failure_detail);
  const auto answer = [&](const KeptHead& head) {
    const thrift::ExceptionReply reply(head.get(), exception_code(*call.failure), text);
    write(reply.bytes(), From::kSelf);
  };
  answer(call.head);
  // If an answer cannot be written, the connection ends and `call` is deleted. So over() is tested
  // before `call` is used.
  for (size_t i = 0; !over() && i < call.more_heads.size(); ++i) answer(call.more_heads[i]);
}

void ClientConnection::finish(Call& call, CallOutcome outcome) {
  FunctionCounters& counters = *call.counters;
  counters.requests[static_cast<size_t>(outcome)].add();
  counters.request_sizes.add(call.request_bytes);
  counters.reply_sizes.add(call.response_bytes);
  const TimePoint now = worker_.reactor().now();
  note_ended(call, outcome, now);
  if (call.replies != 0 && outcome != CallOutcome::kOneway) {
    counters.latency.add(now - call.started);
    // A call whose time is over counts as one that took this time, unless the client has chosen the
    // time; other failures are not measured.
    const bool is_late = call.sent && call.failure == Failure::kDeadlineExceeded &&
                         call.deadline_of == DeadlineOf::kPlan;
    if (outcome != CallOutcome::kLocalError || is_late) calls_.end_learning(call);
    // Exceptions are not measured: a peer that fails fast must not seem to be fast.
    if (outcome == CallOutcome::kSuccess || is_late) {
      note_speed(call, is_late ? now : call.times.replied, now);
    }
  }
  DCHECK_EQ(&call, &calls_.front());
  request_.drop();
  if (&call == current_) {  // the reply has ended before the request has
    leave_current();
    discarding_ = Failure::kUpstreamClosed;
  }
  calls_.pop_front();
  stream_.set_unanswered(calls_.size());
  close_if_done();
}

// Records a call that has just ended: its span if its client has sent a trace context, its times if
// it is one of the slowest, and a line if the access log has it. `is_late`: its deadline has passed
// (and it has no answer).
void ClientConnection::note_ended(const Call& call, CallOutcome outcome, TimePoint now,
                                  bool is_late) {
  const bool is_timed = is_late || has_time(call, outcome);
  const Duration took = now - call.started;
  const bool is_slow = is_timed && worker_.slow_calls().wants(*call.counters, took, now);
  AccessLog* const log = worker_.access_log();
  std::optional<Logged> logged;
  if (log != nullptr) logged = log->wants(is_timed ? took : Duration{}, call.failure.has_value());
  if (!is_slow && !logged && !call.trace.is_recorded) return;
  CallRecord record = record_of(call, outcome, now);
  if (call.trace.is_recorded) worker_.spans()->record(call.trace, SpanKind::kClient, record);
  if (logged) log->add(record, *logged);
  if (is_slow) worker_.slow_calls().add(std::move(record), now);
}

CallRecord ClientConnection::record_of(const Call& call, CallOutcome outcome, TimePoint now) const {
  const TimePoint sent = call.sent ? call.times.sent : now;
  CallRecord record{.counters = call.counters,
                    .began = call.started,
                    .took = now - call.started,
                    .waited = sent - call.started,
                    .outcome = outcome,
                    .failure = call.failure,
                    .request_bytes = call.request_bytes,
                    .reply_bytes = call.response_bytes,
                    .way = {call.pieces.request.carrier(), call.pieces.reply.carrier()},
                    .trace_id = call.trace_id};
  if (call.sent) record.peer = stream_.last_peer();
  if (call.reply_started) {
    record.answered = call.times.replied - sent;
    record.there = call.times.there;
  }
  return record;
}

// Measures the peer by a call that it has answered at `end`, or not in time. Only a call that was
// alone on its connection, and is of a function with a time of its own, shows how fast a peer is.
void ClientConnection::note_speed(const Call& call, TimePoint end, TimePoint now) {
  if (call.times.asked == TimePoint{} || end < call.times.asked || call.several ||
      call.reply != Reply::kCertain || stream_.speed() == nullptr ||
      endpoint_->config.peers.size() < 2) {
    return;
  }
  if (const auto slowness = call.counters->usual.add(end - call.times.asked)) {
    const size_t in_flight = stream_.exists() ? stream_.link().unanswered() : 0;
    endpoint_->speeds.note(*stream_.speed(),
                           {*slowness, call.counters->usual, call.times.asked, in_flight}, now);
  }
}

void ClientConnection::write(Bytes bytes, From from) {
  if (bytes.empty()) return;
  if (from == From::kSelf) ungranted_ += bytes.size();
  totals_.bytes_out += bytes.size();
  const size_t before = out_.size();
  const auto written = out_.write(*client_, bytes);
  worker_.buffered(static_cast<int64_t>(out_.size()) - static_cast<int64_t>(before));
  if (written.error != 0) return close(true);
  wrote(written.bytes);
}

void ClientConnection::on_writable() {
  const auto written = out_.on_writable(*client_);
  worker_.buffered(-static_cast<int64_t>(written.bytes));
  if (written.error != 0) return close(true);
  wrote(written.bytes);
  if (!out_.empty()) return;
  close_if_done();
  if (!over()) resume();
}

// Grants credit to the peer for this stream's reply bytes that the client's socket or ring has
// accepted, but no more credit than the client's ring has space for. Other bytes have used no
// credit of this stream, so they give none back: exceptions of this daemon, and bytes that came on
// an earlier stream.
void ClientConnection::wrote(size_t bytes) {
  const size_t own = std::min(bytes, ungranted_);
  ungranted_ -= own;
  if (over()) return;
  stream_.withhold(client_->shortage(engine::kStreamWindowBytes));
  stream_.grant(bytes - own);
}

}  // namespace hat
