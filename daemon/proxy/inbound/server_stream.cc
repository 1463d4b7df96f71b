// SPDX-License-Identifier: Apache-2.0
#include "daemon/proxy/inbound/server_stream.h"

#include <glog/logging.h>

#include <algorithm>
#include <cstring>

#include "daemon/proxy/worker.h"

namespace hat {

using engine::Failure;
using engine::FrameHeader;
using engine::FrameKind;

namespace {

std::string_view text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

ServerStream::ServerStream(Worker& worker, AcceptedLink& link, uint32_t id, uint32_t lane,
                           const ServedConfig& served)
    : worker_(worker), link_(link), share_(link.share()), id_(id), lane_(lane), served_(served) {
  worker_.peer_shares().add(&PeerShare::streams, *share_, 1);
  if (served.mode != UpstreamMode::kShared) return;
  PooledCallEvents& events = *this;
  pooled_ = std::make_unique<PooledCall>(worker, served, *share_, events);
}

ServerStream::~ServerStream() {
  if (upstream_) close_upstream();
  for (size_t i = 0; i < calls_.size(); ++i) count(calls_[i], CallOutcome::kUnknown);
  buffered(held_.size() + counted_bytes(), 0);
  worker_.peer_shares().add(&PeerShare::streams, *share_, -1);
}

bool ServerStream::idle() const {
  return calls_.empty() && (upstream_ == nullptr || upstream_->backlog() == 0) &&
         (pooled_ == nullptr || !pooled_->sending());
}

void ServerStream::on_frame(uint32_t lane, const FrameHeader& header, Bytes payload) {
  if (closed_) return;
  send_credit_ += header.credit;
  switch (header.kind) {
    case FrameKind::kCall:
      move_to(lane);
      on_call(lane, header, payload);
      break;
    case FrameKind::kMore:
      on_request_bytes(lane, header, payload);
      break;
    case FrameKind::kCancel:
      on_cancel(header.call);
      break;
    case FrameKind::kRaw:
      move_to(lane);
      on_raw(payload);
      break;
    case FrameKind::kEnd:
      on_client_end();
      break;
    case FrameKind::kSync:
      pending_sync_ = header.call;
      answer_sync();
      break;
    case FrameKind::kDetach:
      on_detach();
      break;
    case FrameKind::kReset:
      end_all_due();
      return close();
    default:  // kCredit; kinds that an initiator never sends change nothing
      break;
  }
  if (!closed_ && header.credit != 0) on_room();
}

// Answers kSync once it is certain whether the stream is bound, because kBound must be sent before
// kSynced.
void ServerStream::answer_sync() {
  if (pending_sync_ == 0 || server_ == Server::kAttaching) return;
  if (upstream_ && !upstream_->connected()) return;
  const uint64_t number = std::exchange(pending_sync_, 0);
  lane().send({.kind = FrameKind::kSynced, .stream = id_, .call = number}, {});
}

// --- Requests ---

// Changes the stream's lane. The client does so only when the peer has taken everything sent
// before.
void ServerStream::move_to(uint32_t lane) {
  if (std::exchange(lane_, lane) != lane) on_room();  // the other lane may have been congested
}

// Resets the stream, because a frame breaks the format or exceeds a limit.
void ServerStream::refuse(uint32_t lane, const FrameHeader& header) {
  if (header.replies != 0) end_due(lane);
  reset();
}

void ServerStream::on_call(uint32_t lane, const FrameHeader& header, Bytes payload) {
  engine::CallMeta meta;
  const engine::Hello& peer = link_.session->peer();
  const size_t meta_bytes = call_meta_bytes(peer);
  if (payload.size() < meta_bytes) return refuse(lane, header);
  std::memcpy(&meta, payload.data(), meta_bytes);
  payload = payload.subspan(meta_bytes);
  const size_t names = size_t{meta.name_bytes} + meta.service_bytes;
  if (payload.size() < names || header.call <= last_ordinal_ || request_open_ || opaque_ ||
      server_ == Server::kDetaching) {
    return refuse(lane, header);
  }
  last_ordinal_ = header.call;
  const std::string_view method = text_of(payload.first(meta.name_bytes));
  const std::string_view service = text_of(payload.subspan(meta.name_bytes, meta.service_bytes));
  const Route& route = route_of(service, method);

  ServedCall call;
  call.ordinal = header.call;
  call.counters = &route.metrics->at(Side::kServer, worker_.index());
  call.started = worker_.reactor().now();
  call.name_hash = thrift::name_hash(method);
  call.id = meta.id;
  if (knows_ids(peer)) call.match = Match::kNameAndId;
  if (route.listed) call.listed = route.oneway ? Listed::kOneway : Listed::kTwoWay;
  call.reply = call.listed == Listed::kTwoWay ? Reply::kCertain : Reply::kPossible;
  call.lane = lane;
  if (is_restricted()) call.check = Check::kAwaited;
  if (!may_call(route)) call.check = Check::kDenied;
  call.counters->started.add();
  call.polling = route.server.polling;
  worker_.keep_polling(call.polling);
  add(call);
  request_open_ = true;
  on_request_bytes(lane, header, payload.subspan(names));
}

void ServerStream::on_request_bytes(uint32_t lane, const FrameHeader& header, Bytes bytes) {
  if (!window_.take(bytes.size())) return refuse(lane, header);
  const bool last = (header.flags & engine::kLastPiece) != 0;
  if (!request_open_ || calls_.empty() || calls_.back().ordinal != header.call) {
    if (header.replies != 0) end_due(lane);  // the call has failed here, or was answered
    return grant(bytes.size());
  }
  ServedCall& call = calls_.back();
  call.request_bytes += bytes.size();
  if (last) {
    call.request_complete = true;
    call.replies = header.replies;
    if ((header.flags & engine::kSeveral) != 0) call.match = Match::kOrder;
    if (call.replies == 0) call.reply = Reply::kNone;
    request_open_ = false;
  }
  if (began_unchecked()) return end_unchecked();
  if (call.must_wait()) {
    if (!check_newest(bytes)) return;
    bytes = {};  // check_newest() holds all of them
  }
  if (server_ == Server::kEnded) {  // the call crossed the kEnd
    grant(bytes.size());
    if (worker_.leaves_for_good()) {
      return refuse_newest(Failure::kDraining, "node " + worker_.node().node + " is shutting down");
    }
    return refuse_newest(Failure::kUpstreamClosed,
                         to_string(served_.upstream) + ": the connection has ended");
  }
  const bool passes_at_once = upstream_ && upstream_->connected() && upstream_->backlog() == 0;
  // Bytes, or the state of a call, must be kept.
  const bool is_kept = !passes_at_once || !call.handed_over;
  if (is_kept && worker_.over_buffer_limit(*share_)) return refuse_over_limit(bytes);
  if (pooled_ && !upstream_) {
    hold(call, bytes);
    return advance_pooled();
  }
  if (!ensure_upstream()) {
    grant(bytes.size());
    return refuse_newest(Failure::kOverloaded,
                         served_.service + " has reached its limit of upstream connections");
  }
  if (upstream_) {
    pass(call, bytes);
  } else {
    hold(call, bytes);
  }
  advance();
}

// Adds a call. A peer may send calls of a few bytes each as fast as its server takes them, without
// waiting for answers. The memory of the queue therefore counts for as long as the queue keeps it.
void ServerStream::add(const ServedCall& call) {
  const size_t before = counted_bytes();
  calls_.push_back(call);
  buffered(before, counted_bytes());
}

void ServerStream::buffered(size_t before, size_t now) {
  worker_.buffered(static_cast<int64_t>(now) - static_cast<int64_t>(before), *share_);
}

size_t ServerStream::counted_bytes() const {
  return calls_.capacity() <= kCallsUncounted ? 0 : calls_.capacity() * sizeof(ServedCall);
}

// Frees the memory of a queue that had grown and is empty.
void ServerStream::give_back_queue() {
  if (!calls_.empty() || counted_bytes() == 0) return;
  buffered(counted_bytes(), 0);
  calls_ = {};
}

std::string ServerStream::over_limit_text() const {
  const std::string where = "node " + worker_.node().node + ": ";
  if (worker_.over_buffer_limit()) return where + "limits.max_buffered is reached";
  const std::string& peer = link_.session->peer().node;
  return where + "peer " + peer + " has reached its quarter of limits.max_buffered";
}

// Refuses the newest call, because its state or a part of its request would have to be kept, and
// limits.max_buffered or the peer's quarter of it is reached.
void ServerStream::refuse_over_limit(Bytes bytes) {
  const std::string detail = over_limit_text();
  grant(bytes.size());
  // The server has a part of the request, so it could not understand anything that follows.
  if (calls_.back().handed_over) return end_by_newest(Failure::kOverloaded, detail);
  refuse_newest(Failure::kOverloaded, detail);
}

void ServerStream::refuse_newest(Failure failure, std::string_view detail) {
  // The held bytes of the newest call are the last ones. They must not be taken for bytes of
  // the next call.
  const size_t held = calls_.back().held_bytes;
  held_.drop_last(held);
  buffered(held, 0);
  grant(held);
  send_fail(calls_.back(), failure, false, detail);
  calls_.pop_back();
  request_open_ = false;
  give_back_queue();
}

// Ends the stream because of the newest call, of which the server has at most a part. The server
// may have executed the other calls, so they fail for another reason.
void ServerStream::end_by_newest(Failure failure, const std::string& detail) {
  refuse_newest(failure, detail);
  reset(Failure::kUpstreamClosed, "a later request has ended the connection: " + detail);
}

void ServerStream::on_cancel(uint64_t ordinal) {
  for (size_t i = 0; i < calls_.size(); ++i) {
    ServedCall& call = calls_[i];
    if (call.ordinal != ordinal) continue;
    call.cancelled = true;
    if (!call.request_complete) {
      request_open_ = false;
      // The server has half of a request, so it could not understand anything that follows.
      if (call.handed_over) {
        return lose_upstream(Failure::kUpstreamClosed, true, "an earlier request was cut short");
      }
    }
    return advance();
  }
}

void ServerStream::on_client_end() {
  client_ended_ = true;
  close_if_done();
  if (!closed_) pass_end();
}

// Passes the client's FIN to the server.
void ServerStream::pass_end() {
  if (client_ended_ && upstream_ && held_.empty()) upstream_->end_writes();
}

bool ServerStream::all_may_be_done() const {
  for (size_t i = 0; i < calls_.size(); ++i) {
    if (!calls_[i].may_be_done()) return false;
  }
  return true;
}

// --- The upstream connection ---

bool ServerStream::ensure_upstream() {
  if (upstream_ || server_ == Server::kAttaching) return true;
  // The next call must not overtake the last oneway call, so the stream keeps that call's
  // connection.
  if (pooled_ && pooled_->parked()) {
    upstream_ = worker_.upstreams().keep(*pooled_);
    if (upstream_) granted_ahead_ += upstream_->backlog();
  } else {
    upstream_ = worker_.upstreams().open(served_);
  }
  if (!upstream_) return false;
  upstream_->set_user(this);
  if (!upstream_->connected()) {
    worker_.deadlines().set(*this, worker_.node().limits.upstream_connect_timeout);
  }
  read_if_room();
  return true;
}

// Writes the held bytes of an opaque stream: those that arrived before the connection existed, or
// before the stream became opaque.
void ServerStream::write_held() {
  ByteQueue held;
  std::swap(held, held_);
  buffered(held.size(), 0);
  if (!held.empty()) upstream_->write(held.bytes());
  pass_end();
}

void ServerStream::pass(ServedCall& call, Bytes bytes) {
  if (bytes.empty()) return;
  call.handed_over = true;
  if (call.check == Check::kNotNeeded) upstream_->unchecked = true;
  upstream_->write(bytes);
}

void ServerStream::hold(ServedCall& call, Bytes bytes) {
  call.held_bytes += bytes.size();
  held_.append(bytes);
  buffered(0, bytes.size());
}

// Removes the held bytes of a call, which are at the front of held_.
size_t ServerStream::drop_held(ServedCall& call) {
  const size_t bytes = std::exchange(call.held_bytes, 0);
  if (bytes == 0) return 0;
  held_.consume(bytes);
  buffered(bytes, 0);
  return bytes;
}

// Writes the bytes that calls have held until there was a connection.
void ServerStream::pass_held() {
  for (size_t i = 0; upstream_ && i < calls_.size(); ++i) {
    ServedCall& call = calls_[i];
    if (call.held_bytes == 0) continue;
    if (call.must_wait() && !call.cancelled) return;  // it is the newest call
    if (call.cancelled) {
      grant(drop_held(call));
      continue;
    }
    pass(call, held_.bytes().first(call.held_bytes));
    if (closed_ || calls_.empty()) return;  // the connection broke
    drop_held(call);
  }
  pass_end();
}

// Processes calls from the front of the queue until one must wait: writes held bytes, and removes
// calls that need no answer.
void ServerStream::advance() {
  if (pooled_ && !upstream_) return advance_pooled();
  while (!closed_ && !calls_.empty()) {
    ServedCall& call = calls_.front();
    if (call.cancelled && !call.request_complete && request_open_) return;
    if (call.cancelled) {
      grant(drop_held(call));
    } else if (call.held_bytes != 0 && upstream_ && !call.must_wait()) {
      pass(call, held_.bytes().first(call.held_bytes));
      if (closed_ || calls_.empty()) return;  // the connection broke
      drop_held(call);
    }
    if (call.cancelled) {
      if (call.handed_over) {
        return lose_upstream(Failure::kUpstreamClosed, true, "an earlier call passed its deadline");
      }
    } else if (!call.request_complete || call.reply != Reply::kNone || !call.handed_over) {
      return pass_held();
    } else {
      upstream_->note_oneway(call.name_hash);
    }
    if (call.is_due()) end_due(call.lane);
    count(call, call.cancelled ? CallOutcome::kUnknown : CallOutcome::kOneway);
    calls_.pop_front();
  }
  if (!closed_) close_if_done();
}

void ServerStream::close_upstream() {
  end();
  upstream_->set_user(nullptr);
  worker_.upstreams().close(std::move(upstream_));
}

// Closes the connection, and fails the calls of which it has carried a part.
void ServerStream::lose_upstream(Failure failure, bool delivered, std::string_view detail) {
  if (closed_) return;  // the end of the iteration deletes the rest
  end();
  // The server has ended after the client did, so it has done what the client asked for.
  if (client_ended_ && delivered && upstream_ && !reply_begun_ && all_may_be_done()) {
    while (!calls_.empty()) end_without_reply();
  }
  if (upstream_) {
    grant(upstream_->backlog());  // the server will never take these bytes
    close_upstream();
  }
  if (opaque_ || (reply_begun_ && !calls_.front().cancelled)) return reset(failure, detail);
  reply_begun_ = false;
  while (!calls_.empty()) {
    ServedCall& call = calls_.front();
    if (!call.handed_over && !call.is_dropped() && !is_bound()) break;
    if (!call.request_complete) request_open_ = false;
    grant(drop_held(call));
    if (call.cancelled) {
      if (call.is_due()) end_due(call.lane);
      count(call, CallOutcome::kUnknown);
    } else {
      send_fail(call, failure, delivered, detail);
    }
    calls_.pop_front();
  }
  if (!calls_.empty()) return advance();  // of a shared service: their requests are not complete
  if (is_bound()) end_server();
  answer_sync();
  close_if_done();
}

// Ends the client's connection, as a TCP relay does, after everything that the server owed was
// answered.
void ServerStream::end_server() {
  server_ = Server::kEnded;
  send_control(FrameKind::kEnd);
}

void ServerStream::on_upstream_connected() {
  end();
  const bool mirrored = !opaque_ && served_.mode == UpstreamMode::kMirror;
  if (mirrored && server_ == Server::kAny && knows_bound(link_.session->peer())) {
    server_ = Server::kBound;
    send_control(FrameKind::kBound);
  }
  answer_sync();
}

void ServerStream::on_deadline() {
  if (closed_) return;
  if (server_ == Server::kAttaching) return try_attach();
  if (server_ == Server::kDetaching) return try_detach();
  lose_upstream(
      Failure::kUpstreamUnreachable, false,
      to_string(served_.upstream) + ": no connection within limits.upstream_connect_timeout");
}

void ServerStream::on_upstream_wrote(size_t bytes) {
  grant(bytes);
  if (client_ended_) close_if_done();
}

void ServerStream::on_upstream_end() {
  if (opaque_) {
    end_server();
    return close_if_done();
  }
  lose_upstream(Failure::kUpstreamClosed, true,
                to_string(served_.upstream) + ": the server closed the connection");
}

void ServerStream::on_upstream_broke(const std::string& reason) {
  const bool connected = upstream_->connected();
  lose_upstream(connected ? Failure::kUpstreamClosed : Failure::kUpstreamUnreachable, connected,
                to_string(served_.upstream) + ": " + reason);
}

void ServerStream::on_raw(Bytes bytes) {
  if (server_ == Server::kDetaching) return reset();
  if (pooled_ && pooled_->busy()) {
    return reset(Failure::kUpstreamClosed,
                 "bytes that are not a Thrift call arrived before a call was answered");
  }
  if (!opaque_) become_opaque();
  if (!window_.take(bytes.size())) {
    return reset(Failure::kUpstreamClosed, "the peer sent more than the stream's window");
  }
  if (is_restricted()) {
    worker_.counters().local_replies[static_cast<size_t>(Failure::kPermissionDenied)].add();
    return reset(Failure::kPermissionDenied, caller() +
                                                 " may not call all functions, and it sent bytes "
                                                 "that cannot be followed as a Thrift call");
  }
  // The client's side made the stream opaque before it received the kEnd.
  if (server_ == Server::kEnded && !upstream_) {
    return reset(Failure::kUpstreamClosed, to_string(served_.upstream) + ": the server has ended");
  }
  if (!ensure_upstream()) {
    return reset(Failure::kOverloaded,
                 served_.service + " has reached its limit of upstream connections");
  }
  if (upstream_ && !held_.empty()) write_held();
  const bool passes_at_once = upstream_ && upstream_->connected() && upstream_->backlog() == 0;
  if (!passes_at_once && worker_.over_buffer_limit(*share_)) {
    return reset(Failure::kOverloaded, over_limit_text());
  }
  if (upstream_) upstream_->unchecked = true;
  if (bytes.empty()) return;  // an empty kRaw only makes the stream opaque; more bytes follow
  if (upstream_) return upstream_->write(bytes);
  held_.append(bytes);
  buffered(0, bytes.size());
}

void ServerStream::become_opaque() {
  opaque_ = true;
  request_open_ = false;
  reply_begun_ = false;
  worker_.counters().opaque_streams.add();
  end_all_due();
  for (size_t i = 0; i < calls_.size(); ++i) count(calls_[i], CallOutcome::kUnknown);
  calls_.clear();
  give_back_queue();
}

}  // namespace hat
