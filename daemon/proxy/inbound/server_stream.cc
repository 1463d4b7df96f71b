// SPDX-License-Identifier: Apache-2.0
#include "daemon/proxy/inbound/server_stream.h"

#include <glog/logging.h>

#include <algorithm>
#include <cstring>

#include "daemon/proxy/inbound/served_polling.h"
#include "daemon/proxy/inbound/served_trace.h"
#include "daemon/proxy/opaque_failure.h"
#include "daemon/proxy/worker.h"

namespace hat {

using engine::Failure;
using engine::FrameHeader;
using engine::FrameKind;
using Bound = ServerBinding::State;

namespace {

std::string_view text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

ServerStream::ServerStream(Worker& worker, AcceptedLink& link, uint32_t id, uint32_t lane,
                           std::shared_ptr<const Served> served)
    : Member(served->number),
      worker_(worker),
      link_(link),
      share_(link.share()),
      served_(std::move(served)),
      stream_(link, id, lane, *this),
      calls_(worker, *share_),
      guard_(worker, link, served_) {
  worker_.peer_shares().add(&PeerShare::streams, *share_, 1);
  if (served_->config.mode != UpstreamMode::kShared) return;
  PooledCallEvents& events = *this;
  pooled_ = std::make_unique<PooledCall>(worker, served_, *share_, events);
}

ServerStream::~ServerStream() {
  if (upstream_) close_upstream();
  worker_.peer_shares().add(&PeerShare::streams, *share_, -1);
}

bool ServerStream::idle() const {
  return calls_.empty() && (upstream_ == nullptr || upstream_->backlog() == 0) &&
         (pooled_ == nullptr || !pooled_->sending());
}

void ServerStream::on_frame(uint32_t lane, const FrameHeader& header, Bytes payload) {
  if (stream_.is_closed()) return;
  stream_.note_frame(header, lane);
  switch (header.kind) {
    case FrameKind::kCall:
      if (!move_to(lane)) return end_due(lane, header);
      on_call(lane, header, payload);
      break;
    case FrameKind::kMore:
      on_request_bytes(lane, header, payload);
      break;
    case FrameKind::kCancel:
      on_cancel(header.call);
      break;
    case FrameKind::kRaw:
      if (!move_to(lane)) return;
      on_raw(payload);
      break;
    case FrameKind::kEnd:
      on_client_end();
      break;
    case FrameKind::kSync:
      stream_.expect_sync(header.call);
      answer_sync();
      break;
    case FrameKind::kDetach:
      on_detach();
      break;
    case FrameKind::kResume:
      if (lane == 0) on_resume(payload);
      break;
    case FrameKind::kReset:
      end_all_due();
      return close();
    default:  // kCredit was handled above; other kinds of frames are ignored
      break;
  }
  if (!stream_.is_closed() && header.credit != 0) on_space();
}

// Answers a kSync frame once it is certain whether the stream gets a connection of its own, because
// the kBound frame must be sent before the kSynced frame.
void ServerStream::answer_sync() {
  if (binding_.is(Bound::kAttaching) || (upstream_ && !upstream_->connected())) return;
  stream_.answer_sync();
}

// --- Requests ---

// Resets the stream, because a frame breaks the protocol or exceeds the stream's window.
void ServerStream::refuse(uint32_t lane, const FrameHeader& header) {
  end_due(lane, header);
  reset();
}

void ServerStream::on_call(uint32_t lane, const FrameHeader& header, Bytes payload) {
  engine::CallMeta meta;
  const engine::Hello& peer = link_.peer();
  const size_t meta_bytes = call_meta_bytes(peer);
  if (payload.size() < meta_bytes) return refuse(lane, header);
  std::memcpy(&meta, payload.data(), meta_bytes);
  payload = payload.subspan(meta_bytes);
  const size_t names = size_t{meta.name_bytes} + meta.service_bytes;
  if (payload.size() < names || stream_.peer_has_ended() || is_opaque() ||
      !calls_.takes(header.call) || binding_.is(Bound::kDetaching)) {
    return refuse(lane, header);
  }
  const std::string_view method = text_of(payload.first(meta.name_bytes));
  const std::string_view service = text_of(payload.subspan(meta.name_bytes, meta.service_bytes));
  if (!served_->is_current) use_current_server();
  const Route& route = guard_.route_of(service, method);

  ServedCall call;
  call.ordinal = header.call;
  call.counters = &route.metrics->at(Side::kServer, worker_.index());
  call.started = worker_.reactor().now();
  call.name_hash = thrift::name_hash(method);
  call.id = meta.id;
  call.priority = route.server.priority;
  if (knows_ids(peer)) call.match = ServedCall::Match::kNameAndId;
  if (route.listed) {
    call.listed = route.oneway ? ServedCall::Listed::kOneway : ServedCall::Listed::kTwoWay;
  }
  const bool replies = call.listed == ServedCall::Listed::kTwoWay;
  call.reply = replies ? Reply::kCertain : Reply::kPossible;
  call.lane = stream_.lane();
  if (guard_.is_restricted()) call.check = ServedCall::Check::kAwaited;
  if (!guard_.may_call(route)) call.check = ServedCall::Check::kDenied;
  call.counters->started.add();
  const bool is_denied = call.check == ServedCall::Check::kDenied;
  call.polling =
      is_denied ? route.server.polling : served_polling(route, header.flags, worker_.counters());
  worker_.keep_polling(call.polling);
  payload = payload.subspan(names);
  if (worker_.spans() != nullptr) {
    call.trace = begin_served_trace(*worker_.spans(), payload, call.started);
  }
  calls_.add(call);
  on_request_bytes(lane, header, payload);
}

void ServerStream::on_request_bytes(uint32_t lane, const FrameHeader& header, Bytes bytes) {
  if (stream_.peer_has_ended() || !stream_.take(bytes.size())) return refuse(lane, header);
  ServedCall* const arriving = calls_.arriving(header.call);
  if (arriving == nullptr) {  // the call has failed in this daemon, or was answered
    end_due(lane, header);
    return stream_.grant(bytes.size());
  }
  ServedCall& call = *arriving;
  call.request_bytes += bytes.size();
  if ((header.flags & engine::kLastPiece) != 0) {
    call.on_last_piece(header.replies, (header.flags & engine::kSeveral) != 0);
  }
  if (header.kind == FrameKind::kCall && is_removed()) {
    stream_.grant(bytes.size());
    refuse_newest(Failure::kUnknownService, removed_text());
    if (calls_.empty()) reset(Failure::kUnknownService, removed_text());
    return;
  }
  if (began_unchecked()) return end_unchecked();
  if (call.must_wait()) {
    if (!check_newest(call, bytes)) return;
    bytes = {};  // check_newest() holds all of them
  }
  if (binding_.is(Bound::kEnded)) {  // the peer sent the call before the kEnd frame arrived there
    stream_.grant(bytes.size());
    if (worker_.leaves_for_good()) {
      return refuse_newest(Failure::kDraining, "node " + worker_.node().node + " is shutting down");
    }
    return refuse_newest(Failure::kUpstreamClosed,
                         upstream_text(served_->config) + ": the connection has ended");
  }
  // True if bytes of the request, or the state of the call, must be kept in memory.
  const bool is_kept = !upstream_ || !upstream_->passes_at_once() || !call.is_handed_over();
  if (is_kept && worker_.over_buffer_limit(*share_)) return refuse_over_limit(bytes);
  if (pooled_ && !upstream_) {
    calls_.hold(call, bytes);
    return advance_pooled();
  }
  if (!ensure_upstream()) {
    stream_.grant(bytes.size());
    return refuse_newest(
        Failure::kOverloaded,
        served_->config.service + " has reached its limit of upstream connections");
  }
  if (upstream_) {
    pass(call, bytes);
  } else {
    calls_.hold(call, bytes);
  }
  advance();
}

engine::Landing ServerStream::landing_for(const FrameHeader& header, const LandingAsker& asker) {
  if (header.kind != FrameKind::kMore || stream_.is_closed() || upstream_ == nullptr ||
      guard_.is_restricted() || stream_.lane().number != asker.lane) {
    return {};
  }
  if (asker.is_next) {
    const ServedCall* const call = calls_.arriving(header.call);
    if (call == nullptr || call->must_wait() || !call->is_handed_over()) return {};
  }
  return upstream_->landing(asker, header.payload_bytes);
}

void ServerStream::on_cancel(uint64_t ordinal) {
  for (size_t i = 0; i < calls_.size(); ++i) {
    ServedCall& call = calls_[i];
    if (call.ordinal != ordinal) continue;
    call.cancel();
    // Closes the connection if the server has only a part of the request, because the server would
    // read the next request as the rest of this request.
    if (!call.is_complete() && call.is_handed_over()) {
      return lose_upstream(Failure::kUpstreamClosed, true,
                           "the client gave up an earlier request before all of it was sent");
    }
    return advance();
  }
}

void ServerStream::on_client_end() {
  stream_.end_by_peer();
  close_if_done();
  if (!stream_.is_closed()) pass_end();
}

// Passes the client's FIN to the server.
void ServerStream::pass_end() {
  if (stream_.peer_has_ended() && upstream_ && calls_.holds_nothing()) upstream_->end_writes();
}

void ServerStream::on_raw(Bytes bytes) {
  if (binding_.is(Bound::kDetaching) || stream_.peer_has_ended()) return reset();
  if (pooled_ && pooled_->busy()) {
    return reset(Failure::kUpstreamClosed,
                 "bytes that are not a Thrift call arrived before a call was answered");
  }
  if (!is_opaque()) {
    if (!served_->is_current) use_current_server();
    if (is_removed()) return reset(Failure::kUnknownService, removed_text());
    become_opaque();
    // The start of a reply, which was held back until its head was complete.
    if (upstream_) stream_.send_raw(upstream_->replies().held());
  }
  if (!stream_.take(bytes.size())) {
    return reset(Failure::kUpstreamClosed, "the peer sent more than the stream's window");
  }
  if (guard_.is_restricted()) {
    worker_.counters().local_replies[static_cast<size_t>(Failure::kPermissionDenied)].add();
    return reset(Failure::kPermissionDenied, guard_.caller() +
                                                 " may not call all functions, and it sent bytes "
                                                 "that cannot be followed as a Thrift call");
  }
  // Resets the stream if the server has ended its connection. The client's side has sent this frame
  // before it received the kEnd frame.
  if (binding_.is(Bound::kEnded) && !upstream_) {
    return reset(Failure::kUpstreamClosed,
                 upstream_text(served_->config) + ": the server has ended");
  }
  if (!ensure_upstream()) {
    return reset(Failure::kOverloaded,
                 served_->config.service + " has reached its limit of upstream connections");
  }
  if (upstream_ && !calls_.holds_nothing()) write_held();
  const bool is_kept = !upstream_ || !upstream_->passes_at_once();
  if (is_kept && worker_.over_buffer_limit(*share_)) {
    return reset(Failure::kOverloaded, link_.over_limit_text());
  }
  if (upstream_) upstream_->note_unchecked();
  if (bytes.empty()) return;  // an empty kRaw only makes the stream opaque; more bytes follow
  if (upstream_) return upstream_->write(bytes);
  calls_.hold_opaque(bytes);
}

void ServerStream::become_opaque() {
  DCHECK(mode_ == Mode::kCalls);
  mode_ = Mode::kOpaque;
  set_priority(Priority::kNormal);
  worker_.counters().opaque_streams.add();
  end_all_due();
  calls_.become_opaque();
}

// --- Requests that are checked, or that exceed a limit ---

// Ends the stream if new `allow` rules restrict the peer and the request of an unchecked call waits
// for a connection, because this request would be passed on unchecked.
void ServerStream::on_new_routes() {
  if (stream_.is_closed() || !guard_.is_restricted()) return;
  for (size_t i = 0; i < calls_.size(); ++i) {
    const bool unchecked = calls_[i].check == ServedCall::Check::kNotNeeded;
    if (unchecked && calls_[i].held_bytes != 0) return end_unchecked();
  }
}

// Returns true if the connection has carried unchecked bytes and the peer is restricted now. The
// server can have a part of an unchecked request, and would read later bytes as the rest of it.
bool ServerStream::began_unchecked() {
  return upstream_ && upstream_->carried_unchecked() && guard_.is_restricted();
}

void ServerStream::end_unchecked() {
  end_by_newest(Failure::kPermissionDenied,
                guard_.caller() +
                    " is restricted since `allow` has changed, and this connection has carried "
                    "requests that were not checked; the client may connect again");
}

// Holds `bytes`, and checks the newest call once its whole request has arrived. Returns true if the
// request may be passed on now; returns false if it is incomplete or was refused.
bool ServerStream::check_newest(ServedCall& call, Bytes bytes) {
  if (worker_.over_buffer_limit(*share_)) {
    refuse_over_limit(bytes);
    return false;
  }
  calls_.hold(call, bytes);
  std::optional<RequestGuard::Fault> found;
  if (call.check == ServedCall::Check::kDenied) {
    found = {{thrift::RequestFault::kNotAllowed, 0}, ""};
  } else if (call.held_bytes > worker_.node().limits.checked_request_bytes_max) {
    found = {{thrift::RequestFault::kTooLarge, 0}, ""};
  } else if (!call.is_complete()) {
    stream_.grant_ahead(call.held_bytes);
    return false;
  } else {
    found = guard_.check(calls_.newest_held());
  }
  if (found) {
    refuse_newest(Failure::kPermissionDenied, guard_.refuse(*found));
    return false;
  }
  call.check = ServedCall::Check::kPassed;
  worker_.counters().checked_requests.add();
  return true;
}

// Refuses the newest call, because its state or a part of its request would have to be kept, and
// limits.max_buffered or the peer's quarter of it is reached.
void ServerStream::refuse_over_limit(Bytes bytes) {
  const std::string detail = link_.over_limit_text();
  stream_.grant(bytes.size());
  // Resets the stream if the server has a part of the request, because the server would read the
  // next request as the rest of this request.
  if (calls_.back().is_handed_over()) return end_by_newest(Failure::kOverloaded, detail);
  refuse_newest(Failure::kOverloaded, detail);
}

// --- The upstream connection ---

bool ServerStream::ensure_upstream() {
  if (upstream_ || binding_.is(Bound::kAttaching)) return true;
  // The next call must not overtake the last oneway call, so the stream keeps that call's
  // connection.
  if (pooled_ && pooled_->parked()) {
    upstream_ = worker_.upstreams().keep(*pooled_);
    if (upstream_) stream_.expect_granted(upstream_->backlog());
  } else {
    upstream_ = worker_.upstreams().open(served_);
  }
  if (!upstream_) return false;
  upstream_->set_user(this);
  if (!upstream_->connected()) {
    worker_.deadlines().set(attempt_, worker_.node().limits.upstream_connect_timeout);
  }
  read_if_space();
  return true;
}

// Writes the held bytes of an opaque stream, which arrived before the connection was opened or
// before the stream became opaque.
void ServerStream::write_held() {
  const ByteQueue held = calls_.take_opaque();
  if (!held.empty()) upstream_->write(held.bytes());
  pass_end();
}

void ServerStream::pass(ServedCall& call, Bytes bytes) {
  if (bytes.empty()) return;
  call.hand_over(worker_.reactor().now());
  if (call.check == ServedCall::Check::kNotNeeded) upstream_->note_unchecked();
  upstream_->write(bytes);
}

// Writes the held bytes of `call` to the server. The calls before `call` must not have held bytes.
// Returns false if the stream was closed or lost its calls meanwhile.
bool ServerStream::pass_held(ServedCall& call) {
  pass(call, calls_.held(call));
  if (stream_.is_closed() || calls_.empty()) return false;
  calls_.drop_held(call);
  return true;
}

// Writes the held bytes of all calls to the server, and then the client's FIN if it has arrived.
// Stops at a call that must wait for its check. Drops the bytes of calls that the client gave up.
void ServerStream::pass_all_held() {
  for (size_t i = 0; upstream_ && i < calls_.size(); ++i) {
    ServedCall& call = calls_[i];
    if (call.held_bytes == 0) continue;
    if (call.is_cancelled()) {
      stream_.grant(calls_.drop_held(call));
      continue;
    }
    if (call.must_wait()) return;  // only the newest call can wait for its check
    if (!pass_held(call)) return;
  }
  pass_end();
}

// Processes calls from the front of the queue until one must wait: writes held bytes, and removes
// calls that need no answer.
void ServerStream::advance() {
  if (pooled_ && !upstream_) return advance_pooled();
  while (!stream_.is_closed() && !calls_.empty()) {
    ServedCall& call = calls_.front();
    if (call.is_cancelled()) {
      if (call.is_handed_over()) {
        stream_.grant(calls_.drop_held(call));
        return lose_upstream(Failure::kUpstreamClosed, true,
                             "the client gave up an earlier call that the server had begun");
      }
      end_cancelled();
      continue;
    }
    if (call.held_bytes != 0 && upstream_ && !call.must_wait() && !pass_held(call)) return;
    if (!call.is_complete() || call.reply != Reply::kNone || !call.is_handed_over()) {
      return pass_all_held();
    }
    upstream_->note_oneway(call.name_hash);
    if (call.is_due()) stream_.end_due(call.lane);
    calls_.end_front(CallOutcome::kOneway);
  }
  close_if_done();
}

void ServerStream::close_upstream() {
  attempt_.end();
  upstream_->set_user(nullptr);
  worker_.upstreams().close(std::move(upstream_));
}

// Closes the upstream connection. Fails the calls of which a part was written to the server; if the
// stream is bound to the connection, fails all calls.
void ServerStream::lose_upstream(Failure failure, bool delivered, std::string_view detail) {
  if (stream_.is_closed()) return;  // the destructor closes the connection
  attempt_.end();
  // If the server ends its connection after the client's FIN, and no remaining call needs a reply,
  // the remaining calls end as oneway calls.
  const bool answering = !calls_.empty() && calls_.front().is_answering();
  if (stream_.peer_has_ended() && delivered && upstream_ && !answering &&
      calls_.all_may_be_done()) {
    while (!calls_.empty()) end_without_reply();
  }
  if (upstream_) {
    const size_t backlog = upstream_->backlog();  // the server will never take these bytes
    close_upstream();
    grant_as_read(backlog);
  }
  if (is_opaque() || (answering && !calls_.front().is_cancelled())) return reset(failure, detail);
  while (!calls_.empty()) {
    ServedCall& call = calls_.front();
    if (!call.is_handed_over() && !call.is_dropped() && !binding_.is_bound()) break;
    if (call.is_cancelled()) {
      end_cancelled();
    } else {
      fail_front(failure, delivered, detail);
    }
  }
  if (!calls_.empty()) return advance();  // calls that were not written can use a new connection
  if (binding_.is_bound()) end_server();
  answer_sync();
  close_if_done();
}

// Ends the client's connection (frame kEnd), because the server has ended its connection.
void ServerStream::end_server() {
  binding_.end();
  stream_.send_control(FrameKind::kEnd);
}

void ServerStream::on_upstream_connected() {
  attempt_.end();
  const bool mirrored = !is_opaque() && served_->config.mode == UpstreamMode::kMirror;
  if (mirrored && binding_.is(Bound::kAny) && knows_bound(link_.peer())) {
    binding_.bind();
    stream_.send_control(FrameKind::kBound);
  }
  answer_sync();
}

void ServerStream::on_attempt_end() {
  if (stream_.is_closed()) return;
  if (binding_.is(Bound::kAttaching)) return try_attach();
  if (binding_.is(Bound::kDetaching)) return try_detach();
  lose_upstream(
      Failure::kUpstreamUnreachable, false,
      upstream_text(served_->config) + ": no connection within limits.upstream_connect_timeout");
}

// Grants credit to the peer for `bytes` more bytes that were written to the server, but no more
// credit than the server's ring has space for.
void ServerStream::grant_as_read(size_t bytes) {
  stream_.withhold(upstream_ ? upstream_->shortage() : 0);
  stream_.grant(bytes);
}

void ServerStream::on_upstream_wrote(size_t bytes) {
  grant_as_read(bytes);
  if (stream_.peer_has_ended()) close_if_done();
}

void ServerStream::on_upstream_end() {
  if (is_opaque()) {
    end_server();
    return close_if_done();
  }
  lose_upstream(Failure::kUpstreamClosed, true,
                upstream_text(served_->config) + ": the server closed the connection");
}

void ServerStream::on_upstream_broke(const std::string& reason) {
  const bool connected = upstream_->connected();
  lose_upstream(connected ? Failure::kUpstreamClosed : Failure::kUpstreamUnreachable, connected,
                upstream_text(served_->config) + ": " + reason);
}

// --- The end ---

void ServerStream::close_if_done() {
  if (!stream_.peer_has_ended() || binding_.is(Bound::kAttaching)) return;
  if (!idle() || (upstream_ && !upstream_->connected())) return;
  if (is_opaque() && !binding_.is(Bound::kEnded) && upstream_) return;
  close();
}

// Closes the stream, and gives a shared connection back to the pool at once.
void ServerStream::close() {
  stream_.close();
  if (pooled_) pooled_->drop();
  link_.end_stream(stream_.id());
}

void ServerStream::reset() { reset(Failure::kUpstreamClosed, ""); }

void ServerStream::reset(Failure failure, std::string_view detail, bool delivered) {
  if (stream_.is_closed()) return;
  note_if_opaque(failure, detail);
  end_all_due();
  stream_.send_reset(failure, detail, delivered);
  close();
}

void ServerStream::stop_waiting() {
  if (pooled_) pooled_->stop_waiting();
}

void ServerStream::on_link_lost(const std::string& reason) {
  if (stream_.is_closed()) return;
  note_if_opaque(Failure::kLinkLost, reason);
  stream_.close();
  if (pooled_) pooled_->drop();
}

void ServerStream::note_if_opaque(Failure failure, std::string_view detail) {
  if (!is_opaque()) return;
  const std::string& peer = link_.peer().node;
  note_opaque_failure(worker_.counters(), Side::kServer,
                      "service " + served_->config.service + " for peer " + peer, failure, detail);
}

}  // namespace hat
