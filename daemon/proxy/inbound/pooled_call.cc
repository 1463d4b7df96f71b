// SPDX-License-Identifier: Apache-2.0
#include "daemon/proxy/inbound/pooled_call.h"

#include <glog/logging.h>

#include <algorithm>

#include "base/transitions.h"
#include "daemon/proxy/worker.h"

namespace hat {

using engine::Failure;

void PooledCall::change_to(State next) {
  static constexpr Transition<State> kTransitions[] = {
      {State::kNone, State::kWaiting},  {State::kWaiting, State::kAsked},
      {State::kWaiting, State::kNone},  {State::kAsked, State::kAnswered},
      {State::kAsked, State::kParked},  {State::kAsked, State::kNone},
      {State::kAnswered, State::kNone}, {State::kParked, State::kAsked},
      {State::kParked, State::kNone},
  };
  DCHECK(is_listed(kTransitions, state_, next))
      << "from " << static_cast<int>(state_) << " to " << static_cast<int>(next);
  state_ = next;
}

void PooledCall::change_to(Unit next) {
  static constexpr Transition<Unit> kTransitions[] = {
      {Unit::kNone, Unit::kAnswer}, {Unit::kNone, Unit::kStray}, {Unit::kAnswer, Unit::kEnded},
      {Unit::kEnded, Unit::kNone},  {Unit::kStray, Unit::kNone},
  };
  DCHECK(is_listed(kTransitions, unit_, next))
      << "from " << static_cast<int>(unit_) << " to " << static_cast<int>(next);
  unit_ = next;
}

void PooledCall::ask(const thrift::WholeMessage& request, Reply reply, Priority priority) {
  DCHECK(!busy());
  request_ = request;
  reply_ = reply;
  if (parked()) {
    worker_.upstreams().unpark(*this);
    return send();
  }
  change_to(State::kWaiting);
  worker_.deadlines().set(*this, worker_.node().limits.upstream_connect_timeout);
  if (auto connection = worker_.upstreams().acquire(served_, *this, priority)) {
    begin(std::move(connection));
  }
}

void PooledCall::on_turn(std::unique_ptr<UpstreamConnection> connection) {
  begin(std::move(connection));
  if (!busy()) events_.on_pooled_free();
}

void PooledCall::begin(std::unique_ptr<UpstreamConnection> connection) {
  DCHECK(state_ == State::kWaiting);
  connection_ = std::move(connection);
  connection_->set_user(this);
  unit_ = Unit::kNone;  // the previous connection can have ended in the middle of a reply
  if (connection_->connected()) {
    end();
  } else {
    worker_.deadlines().set(*this, worker_.node().limits.upstream_connect_timeout);
  }
  send();
}

void PooledCall::send() {
  change_to(State::kAsked);
  id_ = connection_->next_id();
  const Bytes request = events_.pooled_request();
  const auto id = static_cast<uint32_t>(id_);
  thrift::write_envelope(request.first(request_->envelope_bytes), request_->framing,
                         request_->encoding, {id_, id}, rewritten_);
  const bool oneway = reply_ == Reply::kNone;
  if (oneway) {
    connection_->note_oneway_id(id_);
    connection_->note_oneway(request_->name_hash);
  }
  connection_->want_read(true);
  connection_->write(rewritten_, request.subspan(request_->envelope_bytes));
  if (oneway) {
    change_to(State::kParked);
    worker_.upstreams().park(*this);
  }
  events_.on_pooled_request_sent();
}

void PooledCall::stop_waiting() {
  if (state_ != State::kWaiting) return;
  end();
  worker_.upstreams().forget(*this);
  change_to(State::kNone);
}

void PooledCall::leave(Connection connection) {
  end();
  switch (state_) {
    case State::kNone:
      return;
    case State::kWaiting:
      worker_.upstreams().forget(*this);
      break;
    case State::kAsked:
      let_go(false);
      break;
    case State::kAnswered:
      break;
    case State::kParked:
      worker_.upstreams().unpark(*this);
      let_go(connection == Connection::kGood);
      break;
  }
  change_to(State::kNone);
  take_answer(answer_.size());
}

std::unique_ptr<UpstreamConnection> PooledCall::give_up() {
  DCHECK(parked());
  end();
  change_to(State::kNone);
  connection_->set_user(nullptr);
  return std::move(connection_);
}

void PooledCall::let_go(bool reusable) {
  connection_->set_user(nullptr);
  worker_.upstreams().take_back(std::move(connection_), reusable);
}

void PooledCall::fail(Failure failure, bool delivered, const std::string& detail) {
  const bool had_call = busy();
  leave(Connection::kBroken);
  if (!had_call) return events_.on_pooled_free();
  events_.on_pooled_failure(failure, delivered, upstream_text(served_->config) + detail);
}

void PooledCall::on_deadline() {
  if (state_ == State::kWaiting) {
    return fail(Failure::kOverloaded, false,
                ": none of its shared connections became free within "
                "limits.upstream_connect_timeout");
  }
  fail(Failure::kUpstreamUnreachable, false,
       ": no connection within limits.upstream_connect_timeout");
}

// --- The reply ---

size_t PooledCall::read_budget() { return worker_.scratch().size(); }

void PooledCall::on_upstream_wrote(size_t) {
  if (!parked() || !can_give_up()) return;
  worker_.upstreams().serve_waiting(served_);
  events_.on_pooled_free();
}

void PooledCall::on_upstream_end() {
  fail(Failure::kUpstreamClosed, true, ": the server closed the connection");
}

void PooledCall::on_upstream_broke(const std::string& reason) {
  const bool connected = connection_->connected();
  fail(connected ? Failure::kUpstreamClosed : Failure::kUpstreamUnreachable, connected,
       ": " + reason);
}

void PooledCall::on_upstream_bytes(Bytes bytes) {
  misunderstood_ = {};
  const size_t taken = connection_->replies().feed(bytes, *this);
  if (unit_ == Unit::kEnded && (taken < bytes.size() || connection_->replies().inside_unit())) {
    misunderstood_ = "bytes after the reply";
  }
  if (!misunderstood_.empty()) {
    worker_.counters().unsolicited_replies.add();
    return fail(Failure::kUpstreamClosed, true,
                ": the server sent " + std::string(misunderstood_) + "; its connection is closed");
  }
  if (unit_ == Unit::kEnded) finish_reply();
  if (!answer_.empty() || state_ == State::kAnswered) events_.on_pooled_answer();
  if (state_ == State::kAsked && keeps_too_much()) {
    return fail(Failure::kUpstreamClosed, true,
                ": the client reads the reply too slowly, and limits.shared_reply, "
                "limits.max_buffered, or the quarter of it that one peer can use, is exceeded");
  }
  if (parked() && can_give_up()) worker_.upstreams().serve_waiting(served_);
}

// Returns true if too many bytes of the reply wait for a slow client: more than
// limits.shared_reply, or more than a stream's window while limits.max_buffered or the peer's
// quarter of limits.max_buffered is exceeded.
bool PooledCall::keeps_too_much() const {
  const bool over_all =
      answer_.size() > engine::kStreamWindowBytes && worker_.over_buffer_limit(share_);
  return over_all || answer_.size() > worker_.node().limits.shared_reply_bytes_max;
}

void PooledCall::finish_reply() {
  outcome_ = connection_->replies().messages().outcome();
  change_to(Unit::kNone);
  change_to(State::kAnswered);
  // If bytes of the request still wait to be written, take_back() closes the connection, because a
  // server that has already answered will not read the rest of the request.
  let_go(connection_->replies().messages().understood());
}

bool PooledCall::on_head(const thrift::Head& head) {
  if (unit_ != Unit::kNone) {
    misunderstood_ = "more than one message in a reply";
    return false;
  }
  const bool exception = head.type == thrift::MessageType::kException;
  if (state_ == State::kAsked && reply_ == Reply::kExpected && head.seqid == id_) {
    const bool named = thrift::name_hash(thrift::bare_name(head.name)) == request_->name_hash;
    if (!named || (!exception && head.type != thrift::MessageType::kReply)) {
      misunderstood_ = "a reply of another name or type";
      return false;
    }
    change_to(Unit::kAnswer);
    head_ = head;
    envelope_.clear();
    envelope_left_ = connection_->replies().messages().unit_bytes();
    return true;
  }
  if (exception && connection_->passed_oneway_id(head.seqid)) {
    worker_.counters().unsolicited_replies.add();
    change_to(Unit::kStray);
    return true;
  }
  misunderstood_ = "a reply to no call of this connection";
  return false;
}

bool PooledCall::on_piece(Bytes piece, bool last) {
  if (unit_ == Unit::kNone) {
    misunderstood_ = "a frame without a message";
    return false;
  }
  if (unit_ == Unit::kAnswer) take_piece(piece);
  if (!last) return true;
  const bool stray = unit_ == Unit::kStray;
  change_to(stray ? Unit::kNone : Unit::kEnded);
  return stray;
}

void PooledCall::take_piece(Bytes piece) {
  const size_t before = answer_.size();
  if (envelope_left_ != 0) {
    const Bytes part = piece.first(std::min(piece.size(), envelope_left_));
    piece = piece.subspan(part.size());
    envelope_.insert(envelope_.end(), part.begin(), part.end());
    envelope_left_ -= part.size();
    if (envelope_left_ != 0) return;
    // A THeader frame has a sequence id of its own, and servers differ in what they put there. The
    // id in the reply is replaced only if it equals the id that was sent.
    const bool echoed = head_.header_seqid == static_cast<uint32_t>(id_);
    const uint32_t header_seqid = echoed ? request_->ids.header_seqid : head_.header_seqid;
    thrift::write_envelope(envelope_, head_.framing, head_.encoding,
                           {request_->ids.seqid, header_seqid}, rewritten_);
    answer_.append(rewritten_);
  }
  answer_.append(piece);
  worker_.buffered(static_cast<int64_t>(answer_.size() - before), share_);
}

void PooledCall::take_answer(size_t bytes) {
  worker_.buffered(-static_cast<int64_t>(bytes), share_);
  if (bytes != 0) answer_.consume(bytes);
  if (state_ == State::kAnswered && answer_.empty()) change_to(State::kNone);
}

}  // namespace hat
