// SPDX-License-Identifier: Apache-2.0
#include "daemon/proxy/outbound/client_connection.h"

#include <glog/logging.h>

#include <algorithm>

#include "daemon/proxy/worker.h"

namespace hat {

using engine::Failure;
using engine::FrameHeader;
using engine::FrameKind;

namespace {

// Limits the reads of one event, so that a busy connection does not hold up the worker's other
// work.
constexpr int kReadsPerEvent = 4;
constexpr size_t kMessagesPerFrameMax = 256;

std::string_view service_prefix(std::string_view name) {
  const auto colon = name.find(':');
  return colon == std::string_view::npos ? std::string_view() : name.substr(0, colon);
}

RdmaWish wish_of(const engine::Plan& plan) {
  if (plan.path == Path::kRdma) return RdmaWish::kWanted;
  return plan.tcp_wanted ? RdmaWish::kNone : RdmaWish::kMissing;
}

Bytes bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

}  // namespace

void Call::on_deadline() { connection->on_call_deadline(*this); }

ClientConnection::ClientConnection(Worker& worker, size_t endpoint,
                                   const ListenerEvents::Accept& accept)
    : worker_(worker),
      endpoint_(endpoint),
      stream_(accept(*this)),
      bulk_(worker.counters().zero_copy_bytes) {
  want_read(true);
}

ClientConnection::~ClientConnection() {
  for (size_t i = 0; i < calls_.size(); ++i) give_back(*calls_[i]);
  end_move(Server::kAny);
  worker_.buffered(-static_cast<int64_t>(out_.size() + counted_input_));
}

// --- Bytes from the application ---

size_t ClientConnection::read_budget() const {
  const int64_t space = send_credit_ - static_cast<int64_t>(input_bytes());
  const size_t most = worker_.over_buffer_limit() ? kInputBytesOverLimit : worker_.scratch().size();
  return space <= 0 ? 0 : std::min<size_t>(static_cast<size_t>(space), most);
}

void ClientConnection::want_read(bool wanted) {
  if (wanted == reading_) return;
  reading_ = wanted;
  stream_->want_read(wanted);
}

void ClientConnection::on_readable() {
  if (life_ == Life::kLingering) return drop_input();
  for (int i = 0; i < kReadsPerEvent && reading_ && !over(); ++i) {
    if (pass_bulk()) continue;
    const auto space = worker_.scratch().first(read_budget());
    const IoResult result = stream_->read(space);
    switch (result.kind) {
      case IoResult::Kind::kWouldBlock:
        return;
      case IoResult::Kind::kEnd:
        return on_end_of_input();
      case IoResult::Kind::kError:
        return close(true);
      case IoResult::Kind::kOk:
        take(space.first(result.bytes));
        if (result.bytes == space.size()) break;
        if (!over() && reader_.waits_for_rest()) stream_->acknowledge_now();
        return;
    }
  }
}

// Sends bytes that no code examines directly from the stream's memory, if a lane can send from
// there. Returns false if it has sent none.
bool ClientConnection::pass_bulk() {
  return bulk_.pass(*stream_, reader_.messages().unexamined(), read_budget(),
                    [this](Bytes bulk) { take(bulk); });
}

void ClientConnection::take(Bytes bytes) {
  taking_ = true;
  size_t taken = 0;
  if (mode_ == Mode::kCalls && !blocked()) taken = reader_.feed(bytes, *this);
  if (mode_ == Mode::kOpaque && taken < bytes.size() && !blocked()) {
    send_raw(bytes.subspan(taken));
    taken = bytes.size();
  }
  taking_ = false;
  if (life_ == Life::kEnding) close_if_done();
  if (over()) return;
  backlog_.append(bytes.subspan(taken));
  count_input();
  if (worker_.over_buffer_limit() && reader_.held_bytes() > kInputBytesOverLimit) {
    LOG_EVERY_T(WARNING, 1) << "endpoint " << to_string(worker_.node().endpoints[endpoint_].listen)
                            << ": limits.max_buffered is reached; closed a connection that has "
                               "sent more than 4 KiB without the head of a message";
    return close(true);
  }
  want_read(input_ == Input::kOpen && backlog_.empty() && !blocked() && read_budget() != 0);
}

void ClientConnection::count_input() {
  const size_t now = input_bytes();
  if (now == counted_input_) return;
  worker_.buffered(static_cast<int64_t>(now) - static_cast<int64_t>(counted_input_));
  counted_input_ = now;
}

void ClientConnection::take_backlog() {
  ByteQueue backlog;
  std::swap(backlog, backlog_);
  take(backlog.bytes());
}

bool ClientConnection::blocked() {
  // This daemon's own exceptions cost no credit, so a client that does not read them is not read
  // from.
  const bool unread = mode_ == Mode::kCalls && out_.size() >= engine::kStreamWindowBytes;
  // A request that has begun is read to its end. The next request may be for the successor.
  const bool full =
      current_ == nullptr && calls_.size() >= worker_.node().limits.calls_per_connection_max;
  const bool ends_here = current_ == nullptr && !discarding_ && input_ == Input::kOpen && leaves();
  const bool ends = mode_ == Mode::kCalls && current_ == nullptr && life_ == Life::kEnding;
  const bool moves_on = moves() && current_ == nullptr && !discarding_;
  return over() || ends || waiting_ || switches_ || moves_on || unread || full || ends_here ||
         (stream_id_ != 0 && peer_->link->up() && lane().congested());
}

void ClientConnection::resume() {
  if (switches_ && !taking_) {
    switches_ = false;
    if (!find_way(*current_)) return;
  }
  if (taking_ || reading_ || blocked()) return;
  take_backlog();
  if (!over() && input_ != Input::kOpen && backlog_.empty() && !blocked()) on_end_of_input();
}

bool ClientConnection::on_head(const thrift::Head& head) {
  if (discarding_ || current_ != nullptr) {
    add_message(head);
    return !over();
  }
  return begin_call(head);
}

bool ClientConnection::on_piece(Bytes piece, bool last) {
  if (over()) return false;
  if (!discarding_) {
    if (current_ != nullptr) {
      current_->request_bytes += piece.size();
      if (current_->request_bytes > worker_.node().limits.message_bytes_max) {
        if (current_->sent) send_control(FrameKind::kCancel, current_->ordinal);
        fail(*current_, Failure::kTooLarge, "the request is larger than limits.max_message");
      }
    }
    // An empty frame has no call. It does not wait for a link, and it does not leave a link that is
    // going away and still owes replies.
    const bool goes = current_ != nullptr || stream_id_ != 0 || have_stream();
    if (!discarding_ && goes) send_piece(piece, last);
  }
  if (last) end_request();
  return mode_ == Mode::kCalls && !blocked();
}

void ClientConnection::end_request() {
  discarding_.reset();
  Call* call = std::exchange(current_, nullptr);
  if (call == nullptr) return;
  if (call->replies != 0) return bound_possible_calls();
  call->counters->requests[static_cast<size_t>(CallOutcome::kOneway)].add();
  call->counters->request_bytes.add(call->request_bytes);
  calls_.pop_back();
  give_back(*call);
  detach_if_due();
}

void ClientConnection::on_opaque(Bytes bytes) {
  VLOG(1) << "endpoint " << to_string(worker_.node().endpoints[endpoint_].listen)
          << ": a connection is carried byte for byte: " << reader_.messages().opaque_reason();
  become_opaque();
  if (worker_.draining()) {
    return fail_opaque(Failure::kDraining, "node " + worker_.node().node + " is shutting down");
  }
  if (!have_stream()) {
    backlog_.append(bytes);
    return start_waiting();
  }
  send_raw(bytes);
}

void ClientConnection::become_opaque() {
  worker_.counters().opaque_streams.add();
  mode_ = Mode::kOpaque;
  if (!waiting_) end();  // without a deadline: each side ends when it does, as through a relay
  leave_current();
  forget_calls();
}

// Makes the connection opaque if limits.max_pipelined is reached and all calls may be oneway. Then
// no reply may ever make space for another call, and carrying the bytes unread needs no memory for
// the calls.
void ClientConnection::bound_possible_calls() {
  if (calls_.size() < worker_.node().limits.calls_per_connection_max || stream_id_ == 0 ||
      life_ != Life::kOpen || !may_all_be_oneway(calls_.size())) {
    return;
  }
  VLOG(1) << "endpoint " << to_string(worker_.node().endpoints[endpoint_].listen)
          << ": a connection is carried byte for byte: " << calls_.size()
          << " calls of functions that no manifest lists have no reply";
  become_opaque();
  send_control(FrameKind::kRaw);
}

// --- Calls ---

const Route& ClientConnection::route(std::string_view name) const {
  const RoutingTable& routes = worker_.routes();
  if (const ServiceRoutes* service = routes.find(service_prefix(name))) {
    return service->find(thrift::bare_name(name));
  }
  return routes.find(worker_.node().endpoints[endpoint_].service)->find(thrift::bare_name(name));
}

Reply ClientConnection::reply_to(const thrift::Head& head, const Route& route) const {
  if (route.listed) return route.oneway ? Reply::kNone : Reply::kCertain;
  return head.type == thrift::MessageType::kOneway ? Reply::kNone : Reply::kPossible;
}

// Returns true if each of the `count` oldest calls was sent and may be oneway.
bool ClientConnection::may_all_be_oneway(size_t count) const {
  for (size_t i = 0; i < count; ++i) {
    const Call& call = *calls_[i];
    if (call.reply != Reply::kPossible || !call.sent || call.failure) return false;
  }
  return true;
}

// Returns the newest of the `count` oldest calls that was sent, or nullptr if none was.
const Call* ClientConnection::newest_sent(size_t count) const {
  while (count != 0 && !calls_[count - 1]->sent) --count;
  return count == 0 ? nullptr : calls_[count - 1];
}

// Adds a call. A connection's calls after the first kCallsUncounted count towards
// limits.max_buffered.
Call& ClientConnection::add_call(const thrift::Head& head, const Route& route) {
  Call& call = *worker_.calls().take();
  call.connection = this;
  call.counters = &route.metrics->at(Side::kClient, worker_.index());
  call.started = worker_.reactor().now();
  call.head.keep(head);
  call.reply = reply_to(head, route);
  call.replies = call.reply == Reply::kNone ? 0 : 1;
  call.counters->started.add();
  if (calls_.size() >= kCallsUncounted) {
    call.counted = true;
    worker_.buffered(sizeof call);
  }
  calls_.push_back(&call);
  return call;
}

bool ClientConnection::begin_call(const thrift::Head& head) {
  const Route& route = this->route(head.name);
  Call& call = add_call(head, route);
  call.polling = route.client.polling;
  worker_.keep_polling(call.polling);
  current_ = &call;
  const Limits& limits = worker_.node().limits;
  if (head.frame_bytes > limits.message_bytes_max) {
    fail(call, Failure::kTooLarge,
         "a frame of " + std::to_string(head.frame_bytes) +
             " bytes is larger than limits.max_message, " +
             std::to_string(limits.message_bytes_max));
  } else if (worker_.draining()) {
    fail(call, Failure::kDraining, "node " + worker_.node().node + " is shutting down");
  } else if (worker_.over_buffer_limit()) {
    fail(call, Failure::kOverloaded, "limits.max_buffered is reached");
  } else {
    if (route.client.timeout && call.replies != 0) {
      worker_.deadlines().set(call, *route.client.timeout);
    }
    call.rdma = wish_of(route.client);
    const bool large = head.frame_bytes != 0
                           ? head.frame_bytes > route.client.small_bytes_max
                           : route.client.slot_bytes > route.client.small_bytes_max;
    call.lane = large ? route.lanes.large : route.lanes.small;
    if (!find_way(call)) return false;
  }
  return !over();
}

void ClientConnection::add_message(const thrift::Head& head) {
  const Route& route = this->route(head.name);
  const Reply reply = reply_to(head, route);
  if (!discarding_) current_->several = true;
  if (reply == Reply::kNone) return;
  // No client sends such a frame, and each message costs memory.
  if (discarding_
          ? calls_.size() >= worker_.node().limits.calls_per_connection_max + kMessagesPerFrameMax
          : current_->replies >= kMessagesPerFrameMax) {
    return close(true);
  }
  if (!discarding_) {
    current_->reply = std::max(current_->reply, reply);
    if (current_->replies++ == 0) {
      current_->head.keep(head);
    } else {
      current_->more_heads.emplace_back().keep(head);
      worker_.buffered(sizeof(KeptHead));
    }
    return;
  }
  // The frame's first call has failed, and so does this one; it is owed its own answer.
  fail(add_call(head, route), *discarding_, "an earlier call of the same frame failed");
}

void ClientConnection::give_back(Call& call) {
  if (call.failure) --failed_calls_;
  worker_.buffered(-static_cast<int64_t>(call.more_heads.size() * sizeof(KeptHead)));
  if (call.counted) worker_.buffered(-static_cast<int64_t>(sizeof call));
  worker_.calls().give_back(&call);
}

void ClientConnection::start_waiting() {
  waiting_ = true;
  waiting_since_ = worker_.reactor().now();
  ticket_ = worker_.start_waiting(*this);
  worker_.deadlines().set(*this, worker_.node().limits.peer_wait);
}

void ClientConnection::stop_waiting() {
  waiting_ = false;
  worker_.stop_waiting(ticket_);
  end();
  if (life_ == Life::kEnding || holds_up_failure()) {
    worker_.deadlines().set(*this, kServerEndWait);
  }
}

void ClientConnection::on_link_news() {
  if (have_stream()) {
    stop_waiting();
    if (current_ != nullptr && !find_way(*current_)) return;
    return resume();
  }
  if (worker_.peers_hopeless(peers(), waiting_since_)) on_no_link();
}

void ClientConnection::on_deadline() {
  if (life_ == Life::kLingering) return close(false);
  if (waiting_) return on_no_link();
  if (input_ == Input::kPassedOn || life_ == Life::kEnding || holds_up_failure()) {
    on_server_end_wait();
  }
}

void ClientConnection::LaneWait::on_deadline() {
  if (connection.switches_) connection.resume();
}

void ClientConnection::on_no_link() {
  stop_waiting();
  const std::string why = worker_.peer_errors(peers());
  if (mode_ == Mode::kOpaque) return fail_opaque(Failure::kPeerUnreachable, why);
  if (is_bound()) {  // the connection that the peer keeps cannot be reached
    end_move(Server::kAny);
    end_after_answers();
  }
  if (current_ != nullptr) fail(*current_, Failure::kPeerUnreachable, why);
  close_if_done();
  if (!over()) resume();
}

void ClientConnection::on_call_deadline(Call& call) {
  if (call.reply == Reply::kPossible) {
    LOG_EVERY_T(WARNING, 1)
        << "endpoint " << to_string(worker_.node().endpoints[endpoint_].listen)
        << ": closed a connection, because a call got no reply within timeout_ms; "
           "hatrpcd does not answer the call, because it may be oneway and no "
           "manifest lists its function";
    return end_without_answers();
  }
  if (call.sent) send_control(FrameKind::kCancel, call.ordinal);
  // A kept connection to the server must still be reached, even without the call.
  if (&call == current_ && waiting_ && server_ != Server::kDetached) stop_waiting();
  fail(call, Failure::kDeadlineExceeded,
       "no reply within the function's timeout_ms, or limits.call_timeout");
  if (over()) return;
  detach_if_due();
  resume();
}

// --- The stream to the peer daemon ---

bool ClientConnection::have_stream() {
  if (stream_id_ != 0) {
    if (peer_->link->takes_calls() || is_bound()) return true;
    leave_stream(FrameKind::kEnd);
  }
  PeerLink* peer = worker_.choose_peer(peers());
  if (peer == nullptr) return false;
  open_stream(*peer);
  if (server_ == Server::kDetached) attach();
  return true;
}

// The peer learns of the stream with its first frame, on the lane that this frame uses.
void ClientConnection::open_stream(PeerLink& peer) {
  peer_ = &peer;
  stream_id_ = peer.link->next_stream();
  peer.streams[stream_id_] = this;
  next_ordinal_ = 1;
}

engine::Lane& ClientConnection::lane() { return peer_->lane(lane_); }

// Finds the stream and the lane for the call. Returns false if the call must wait for a link, or
// for the calls before it.
bool ClientConnection::find_way(Call& call) {
  if (link_leaves()) {
    switches_ = true;
    detach_if_due();
    const bool owed = calls_.size() > 1;  // this stream still owes answers
    const bool taken = !opened_ || delivery_.all_taken();
    const bool goes_along = is_bound() && may_detach();
    if (server_ != Server::kPinned && (owed || !taken || goes_along)) return false;
    switches_ = false;
  }
  if (!have_stream()) {
    start_waiting();
    return false;
  }
  if (!take_lane(call)) {
    switches_ = true;
    worker_.deadlines().set(lane_wait_, kLaneWait);
    return false;
  }
  call.ordinal = next_ordinal_++;
  return true;
}

// Chooses the lane for the call. A stream moves to another lane only when everything sent on it has
// been taken, so that its calls keep their order. Returns false if the call must wait for that;
// resume() then tries again. If the answers to the calls before do not arrive within kLaneWait, or
// may never arrive, the call stays on the stream's lane: a TCP relay would pass the call at once,
// and the server may wait for it.
bool ClientConnection::take_lane(Call& call) {
  PeerLanes::Choice choice{0, Fallback::kNoFabric};
  if (call.rdma == RdmaWish::kWanted) choice = peer_->choose(call.lane, endpoint_);
  const size_t before = calls_.size() - 1;
  if (choice.lane != lane_ && before != 0 &&
      (may_all_be_oneway(before) || worker_.reactor().now() - call.started >= kLaneWait)) {
    if (const Call* sent = newest_sent(before)) choice = sent->choice;
    choice.why = Fallback::kUnanswered;
  }
  if (choice.lane != lane_ && !quiet()) {
    if (calls_.size() == 1) ask_whether_taken();
    return false;
  }
  lane_ = choice.lane;
  call.choice = choice;
  return true;
}

void ClientConnection::count_way(const Call& call) {
  if (call.choice.lane != 0) {
    call.counters->by_protocol[static_cast<size_t>(call.choice.protocol)].add();
    return;
  }
  call.counters->by_tcp.add();
  if (call.rdma == RdmaWish::kNone) return;
  call.counters->fallbacks[static_cast<size_t>(call.choice.why)].add();
}

bool ClientConnection::quiet() const {
  return !opened_ || (calls_.size() == 1 && delivery_.all_taken());
}

void ClientConnection::ask_whether_taken() {
  if (const uint64_t number = delivery_.ask()) send_control(FrameKind::kSync, number);
}

void ClientConnection::leave_stream(FrameKind farewell) {
  if (stream_id_ == 0) return;
  if (opened_ && peer_->link->up()) peer_->end_stream(stream_id_, lane_, farewell);
  peer_->streams.erase(stream_id_);
  forget_stream();
}

void ClientConnection::forget_stream() {
  peer_ = nullptr;
  stream_id_ = 0;
  end_move(Server::kAny);
  lane_ = 0;
  opened_ = switches_ = false;
  delivery_ = {};
  window_ = {};
  send_credit_ = engine::kStreamWindowBytes;  // so that reading continues, for the next stream
  ungranted_ = out_.size();
}

void ClientConnection::send_control(FrameKind kind, uint64_t call) {
  if (!opened_ || !peer_->link->up()) return;
  lane().send({.kind = kind, .stream = stream_id_, .call = call}, {});
  if (kind != FrameKind::kCancel) return;
  delivery_.send_unanswered();
}

void ClientConnection::tell_of_stream() {
  if (std::exchange(opened_, true)) return;
  lane().send({.kind = FrameKind::kOpen, .stream = stream_id_},
              {bytes_of(worker_.node().endpoints[endpoint_].service)});
}

void ClientConnection::send_piece(Bytes piece, bool last) {
  // An empty frame has no call, but its bytes are sent on the stream too.
  const bool begins = current_ == nullptr || !current_->sent;
  FrameHeader header{.kind = begins ? FrameKind::kCall : FrameKind::kMore,
                     .stream = stream_id_,
                     .call = current_ == nullptr ? next_ordinal_++ : current_->ordinal};
  tell_of_stream();
  if (begins && current_ != nullptr) count_way(*current_);
  engine::Lane& lane = this->lane();
  const engine::Hello& peer = peer_->link->session().peer();
  delivery_.send(header.call);
  do {  // repeats only if bytes were held until the unit's head was known
    const Bytes part = piece.first(std::min<size_t>(piece.size(), engine::kPieceBytesMax));
    piece = piece.subspan(part.size());
    if (last && piece.empty()) {
      header.flags = engine::kLastPiece;
      header.replies = current_ == nullptr ? 0 : current_->replies;
      if (current_ != nullptr && current_->several && knows_ids(peer)) {
        header.flags |= engine::kSeveral;
      }
    }
    header.credit = window_.grant();
    send_credit_ -= static_cast<int64_t>(part.size());
    if (header.kind == FrameKind::kCall) {
      const std::string_view name =
          current_ == nullptr ? std::string_view() : current_->head.get().name;
      const std::string_view method = thrift::bare_name(name);
      const std::string_view service = service_prefix(name);
      const engine::CallMeta meta{.name_bytes = static_cast<uint16_t>(method.size()),
                                  .service_bytes = static_cast<uint16_t>(service.size()),
                                  .id = current_ == nullptr ? 0 : current_->head.get().seqid};
      lane.send(header, {std::as_bytes(std::span(&meta, 1)).first(call_meta_bytes(peer)),
                         bytes_of(method), bytes_of(service), part});
    } else if (!send_zero_copy(header, part)) {
      lane.send(header, {part});
    }
    header.kind = FrameKind::kMore;
  } while (!piece.empty());
  if (current_ != nullptr) current_->sent = true;
}

bool ClientConnection::send_zero_copy(const FrameHeader& header, Bytes part) {
  if (lane_ == 0) return false;
  return bulk_.send(
      *stream_, {peer_->lanes->rdma(lane_), lane_, peer_->lanes->fabric(), peer_->borrowed_ranges},
      header, part);
}

void ClientConnection::send_raw(Bytes bytes) {
  tell_of_stream();
  while (!bytes.empty()) {
    const Bytes piece = bytes.first(std::min<size_t>(bytes.size(), engine::kPieceBytesMax));
    bytes = bytes.subspan(piece.size());
    send_credit_ -= static_cast<int64_t>(piece.size());
    lane().send({.kind = FrameKind::kRaw, .stream = stream_id_, .credit = window_.grant()},
                {piece});
  }
}

}  // namespace hat
