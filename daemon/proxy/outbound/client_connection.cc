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

// The most reads in one call of on_readable(), so that a busy connection does not delay the other
// connections of the worker.
constexpr int kReadsPerEvent = 4;
constexpr size_t kMessagesPerFrameMax = 256;

RdmaWish wish_of(const engine::Plan& plan) {
  if (plan.path == Path::kRdma) return RdmaWish::kWanted;
  return plan.tcp_wanted ? RdmaWish::kNone : RdmaWish::kMissing;
}

// Makes `call` want the carrier that the plan names for a message of its size.
void want_carrier(Call& call, const engine::Plan& plan, const WantedLanes& lanes) {
  call.rdma = wish_of(plan);
  const uint32_t frame_bytes = call.head.get().frame_bytes;
  const bool large = frame_bytes != 0 ? frame_bytes > plan.small_bytes_max
                                      : plan.slot_bytes > plan.small_bytes_max;
  call.lane = large ? lanes.large : lanes.small;
}

void want_carrier(Call& call, const CallPlan& planned) {
  call.polling = {planned.plan.polling, std::nullopt};
  want_carrier(call, planned.plan, planned.lanes);
}

}  // namespace

ClientConnection::ClientConnection(Worker& worker, std::shared_ptr<Endpoint> endpoint,
                                   const ListenerEvents::Accept& accept)
    : Member(endpoint->number),
      worker_(worker),
      endpoint_(std::move(endpoint)),
      request_(worker),
      calls_(worker),
      stream_(worker, *this, *this),
      totals_{.began = worker.reactor().now()},
      client_(accept(*this)) {
  want_read(true);
}

ClientConnection::~ClientConnection() {
  worker_.buffered(-static_cast<int64_t>(out_.size() + counted_input_));
}

// --- Bytes from the application ---

size_t ClientConnection::read_budget() {
  const int64_t space = stream_.send_credit() - static_cast<int64_t>(input_bytes());
  if (space <= 0) return 0;
  const size_t most = worker_.over_buffer_limit() ? kInputBytesOverLimit : worker_.scratch().size();
  return std::min({static_cast<size_t>(space), most, stream_.lane_budget()});
}

void ClientConnection::want_read(bool wanted) {
  if (wanted == reading_) return;
  reading_ = wanted;
  client_->want_read(wanted);
}

void ClientConnection::on_readable() {
  if (life_ == Life::kLingering) return drop_input();
  // A client that sends has usually read the reply before. So the request can carry its credit.
  const bool renews = stream_.withholds_much();
  if (renews) stream_.withhold(client_->shortage(engine::kStreamWindowBytes));
  read_requests();
  if (renews && !over()) stream_.grant(0);  // if no frame has carried the credit
}

void ClientConnection::read_requests() {
  for (int i = 0; i < kReadsPerEvent && reading_ && !over(); ++i) {
    const size_t budget = read_budget();
    if (budget == 0) return want_read(false);
    const uint64_t unexamined = reader_.messages().unexamined();
    if (stream_.bulk().pass(*client_, unexamined, budget, [this](Bytes bulk) {
          totals_.bytes_in += bulk.size();
          take(bulk);
        })) {
      continue;
    }
    const auto space =
        worker_.scratch().first(BulkSender::bytes_to_copy(*client_, reader_, budget));
    const IoResult result = client_->read(space);
    switch (result.kind) {
      case IoResult::Kind::kWouldBlock:
        return;
      case IoResult::Kind::kEnd:
        return on_end_of_input();
      case IoResult::Kind::kError:
        return close(true);
      case IoResult::Kind::kOk:
        totals_.bytes_in += result.bytes;
        take(space.first(result.bytes));
        if (result.bytes == space.size()) break;
        if (!over() && reader_.waits_for_rest()) client_->acknowledge_now();
        return;
    }
  }
}

void ClientConnection::take(Bytes bytes) {
  taking_ = true;
  size_t taken = 0;
  if (request_.waits() && !blocked()) send_again();
  if (mode_ == Mode::kCalls && !blocked()) taken = reader_.feed(bytes, *this);
  if (mode_ == Mode::kOpaque && taken < bytes.size() && !blocked()) {
    stream_.send_raw(bytes.subspan(taken));
    taken = bytes.size();
  }
  taking_ = false;
  if (life_ == Life::kEnding) close_if_done();
  if (over()) return;
  backlog_.append(bytes.subspan(taken));
  count_input();
  if (worker_.over_buffer_limit() && reader_.held_bytes() > kInputBytesOverLimit) {
    LOG_EVERY_T(WARNING, 1) << "endpoint " << to_string(endpoint_->config.listen)
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
  // This daemon's own exceptions cost no credit. To limit them, the daemon stops reading from a
  // client that does not read its answers.
  const bool unread = mode_ == Mode::kCalls && out_.size() >= engine::kStreamWindowBytes;
  // The next four conditions hold only while `current_` is null, so that none of them stops the
  // daemon from reading the request of the current call to its end.
  const bool full =
      current_ == nullptr && calls_.size() >= worker_.node().limits.calls_per_connection_max;
  const bool ends_here = current_ == nullptr && !discarding_ && input_ == Input::kOpen && leaves();
  const bool ends = mode_ == Mode::kCalls && current_ == nullptr && life_ == Life::kEnding;
  const bool moves_on = stream_.moves() && current_ == nullptr && !discarding_;
  return over() || ends || wait_ != Wait::kNone || moves_on || unread || full || ends_here ||
         stream_.is_suspended() || stream_.lane_budget() == 0;
}

void ClientConnection::resume() {
  if (stream_.is_suspended()) return;
  if (waits_for_lane() && !taking_) {
    wait_for(Wait::kNone);
    if (!find_way(*current_)) return;
  }
  if (taking_ || reading_ || blocked()) return;
  take_backlog();
  if (!over() && input_ != Input::kOpen && backlog_.empty() && !blocked()) on_end_of_input();
}

// The lane of the stream takes bytes again. Reads at once, because the lane serves the next stream
// when this function returns. Continues while the reads let the stream send something.
void ClientConnection::on_turn() {
  worker_.flush_again();
  resume();
  for (int64_t before = 0; reading_ && !over() && before != stream_.send_credit();) {
    before = stream_.send_credit();
    on_readable();
  }
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
        if (current_->sent) stream_.send_control(FrameKind::kCancel, current_->ordinal);
        fail(*current_, Failure::kTooLarge, "the request is larger than limits.max_message");
      }
    }
    // An empty Thrift frame has no call. It is sent on the stream that exists, even if the peer is
    // shutting down, and it is dropped if no stream exists and no link is up.
    const bool goes = current_ != nullptr || stream_.exists() || have_stream();
    if (!discarding_ && goes) {
      request_.add(piece, last);
      stream_.send_piece(current_, *client_, piece, last);
    }
  }
  if (last) end_request();
  return mode_ == Mode::kCalls && !blocked();
}

void ClientConnection::end_request() {
  discarding_.reset();
  Call* call = std::exchange(current_, nullptr);
  if (call == nullptr) return;
  if (call->replies != 0) {
    if (calls_.size() == 1) call->times.asked = worker_.reactor().now();
    return bound_possible_calls();
  }
  request_.drop();
  call->counters->requests[static_cast<size_t>(CallOutcome::kOneway)].add();
  call->counters->request_sizes.add(call->request_bytes);
  note_ended(*call, CallOutcome::kOneway, worker_.reactor().now());
  DCHECK_EQ(call, &calls_[calls_.size() - 1]);
  calls_.pop_back();
  stream_.set_unanswered(calls_.size());
  stream_.note_oneway();
  detach_if_due();
}

void ClientConnection::on_opaque(Bytes bytes) {
  VLOG(1) << "endpoint " << to_string(endpoint_->config.listen)
          << ": a connection is carried byte for byte: " << reader_.messages().opaque_reason();
  become_opaque();
  if (worker_.draining()) {
    return fail_opaque(Failure::kDraining, "node " + worker_.node().node + " is shutting down");
  }
  if (!have_stream()) {
    backlog_.append(bytes);
    return start_waiting();
  }
  stream_.send_raw(bytes);
}

void ClientConnection::become_opaque() {
  worker_.counters().opaque_streams.add();
  mode_ = Mode::kOpaque;
  set_priority(Priority::kNormal);
  if (!waits_for_link())
    end();  // unsets the deadline: only the client or the server ends an opaque connection
  leave_current();
  forget_calls();
  stream_.set_unanswered(0);
}

// Makes the connection opaque if limits.max_pipelined calls are unanswered and all of them may be
// oneway. Such calls may never get a reply, so the client could never make another call. An opaque
// connection keeps no calls.
void ClientConnection::bound_possible_calls() {
  if (calls_.size() < worker_.node().limits.calls_per_connection_max || !stream_.exists() ||
      life_ != Life::kOpen || !calls_.may_all_be_oneway(calls_.size())) {
    return;
  }
  VLOG(1) << "endpoint " << to_string(endpoint_->config.listen)
          << ": a connection is carried byte for byte: " << calls_.size()
          << " calls of functions that no manifest lists have no reply";
  become_opaque();
  stream_.send_control(FrameKind::kRaw);
}

// --- Calls ---

const Route& ClientConnection::route(std::string_view name) const {
  const RoutingTable& routes = worker_.routes();
  if (const ServiceRoutes* service = routes.find(thrift::service_prefix(name))) {
    return service->find(thrift::bare_name(name));
  }
  return routes.find_retired_too(endpoint_->config.service)->find(thrift::bare_name(name));
}

Reply ClientConnection::reply_to(const thrift::Head& head, const Route& route) const {
  if (route.listed) return route.oneway ? Reply::kNone : Reply::kCertain;
  return head.type == thrift::MessageType::kOneway ? Reply::kNone : Reply::kPossible;
}

Call& ClientConnection::add_call(const thrift::Head& head, const Route& route) {
  ++totals_.calls;
  return calls_.add(this, head, reply_to(head, route),
                    route.metrics->at(Side::kClient, worker_.index()));
}

bool ClientConnection::begin_call(const thrift::Head& head) {
  const Route& route = this->route(head.name);
  Call& call = add_call(head, route);
  current_ = &call;
  if (head.trace != nullptr) {
    call.trace_id = head.trace->trace_id;
    if (Spans* const spans = worker_.spans()) {
      call.trace = spans->begin(*head.trace, head.trace_at, call.started);
    }
  }
  set_priority(route.client.plan.priority);
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
    set_deadline(call, route);
    want_carrier(call, route.client);
    call.by_peer.number = route.by_peer_number;
    keep_request(call, route);
    if (!find_way(call)) return false;
  }
  return !over();
}

void ClientConnection::add_message(const thrift::Head& head) {
  const Route& route = this->route(head.name);
  const Reply reply = reply_to(head, route);
  request_.drop();  // the hints of one function do not hold for the others
  if (!discarding_) current_->several = true;
  if (reply == Reply::kNone) return;
  // Each message in a Thrift frame costs memory, so the number of messages is limited.
  if (discarding_
          ? calls_.size() >= worker_.node().limits.calls_per_connection_max + kMessagesPerFrameMax
          : current_->replies >= kMessagesPerFrameMax) {
    return close(true);
  }
  if (!discarding_) {
    const bool was_certain = current_->reply == Reply::kCertain;
    current_->reply = std::max(current_->reply, reply);
    // A client's time-out holds only for calls that certainly have a reply; the plan's begins now.
    if (was_certain && reply == Reply::kPossible && current_->deadline_of == DeadlineOf::kClient) {
      set_deadline(*current_, this->route(current_->head.get().name));
    }
    return calls_.add_message(*current_, head);
  }
  // The first call of the Thrift frame has failed, so this call fails too, with its own answer.
  fail(add_call(head, route), *discarding_, "an earlier call in the same Thrift frame failed");
}

void ClientConnection::wait_for(Wait what) {
  DCHECK(wait_ == Wait::kNone || what == Wait::kNone);
  DCHECK(what != Wait::kLink || !stream_.exists());
  DCHECK(what != Wait::kLane || stream_.exists());
  wait_ = what;
}

void ClientConnection::start_waiting() {
  wait_for(Wait::kLink);
  link_wait_.since = worker_.reactor().now();
  link_wait_.ticket = worker_.start_waiting(*this);
  worker_.deadlines().set(*this, worker_.node().limits.peer_wait);
}

void ClientConnection::stop_waiting() {
  DCHECK(waits_for_link());
  wait_for(Wait::kNone);
  worker_.stop_waiting(link_wait_.ticket);
  end();
  if (life_ == Life::kEnding || calls_.holds_up_failure()) {
    worker_.deadlines().set(*this, kServerEndWait);
  }
}

// Ends the wait for a link, because there is a stream.
void ClientConnection::on_link() {
  stop_waiting();
  if (current_ != nullptr && !find_way(*current_)) return;
  resume();
}

void ClientConnection::on_link_news() {
  if (have_stream()) return on_link();
  if (worker_.peers_hopeless(stream_.peers(), link_wait_.since)) on_no_link();
}

void ClientConnection::on_deadline() {
  if (life_ == Life::kLingering) return close(false);
  if (waits_for_link()) return have_stream(FirstAttempts::kIgnore) ? on_link() : on_no_link();
  if (input_ == Input::kPassedOn || life_ == Life::kEnding || calls_.holds_up_failure()) {
    on_server_end_wait();
  }
}

void ClientConnection::LaneWait::on_deadline() {
  if (connection.waits_for_lane()) connection.resume();
}

void ClientConnection::on_no_link() {
  stop_waiting();
  const std::string why = worker_.peer_errors(stream_.peers());
  if (mode_ == Mode::kOpaque) return fail_opaque(Failure::kPeerUnreachable, why);
  if (stream_.is_bound()) {  // the peer that keeps the connection to the server is unreachable
    stream_.lose_server();
    end_after_answers();
  }
  if (current_ != nullptr) fail(*current_, Failure::kPeerUnreachable, why);
  close_if_done();
  if (!over()) resume();
}

// --- The stream to the peer daemon ---

bool ClientConnection::have_stream(FirstAttempts first_attempts) {
  if (stream_.exists()) {
    if (!stream_.link_leaves() || stream_.is_bound()) return true;
    leave_stream(FrameKind::kEnd);
  }
  PeerLink* peer = worker_.choose_peer(stream_.peers(), *endpoint_, first_attempts);
  if (peer == nullptr) return false;
  open_stream(*peer);
  return true;
}

void ClientConnection::open_stream(PeerLink& peer) {
  const TimePoint now = worker_.reactor().now();
  endpoint_->ejected.note_use(peer.link().peer(), now);
  stream_.open(peer, mode_ == Mode::kCalls ? OutboundStream::Origin::kMayBeUsed
                                           : OutboundStream::Origin::kNew);
  if (PeerSpeed* const speed = stream_.speed()) endpoint_->speeds.note_use(*speed, now);
}

// Returns true if a reload has retired the link of the stream, and the next call must use this
// stream all the same: the client has a server of its own, or earlier calls are not answered. The
// peer is not about to shut down, so the call need not wait until they are.
bool ClientConnection::stays_with_retired_link() const {
  return stream_.exists() && stream_.link().is_retired() &&
         (stream_.is_bound() || calls_.size() > 1 || !stream_.all_taken());
}

// Returns the link that the call which begins should use rather than that of the stream. Returns
// null if there is none, if earlier calls are not answered, or if the server may keep state for the
// client.
PeerLink* ClientConnection::better_peer() {
  if (!stream_.exists() || calls_.size() != 1 || stream_.link_leaves() ||
      stream_.peers().size() < 2) {
    return nullptr;
  }
  const bool may_leave =
      stream_.shares_server() ||
      (stream_.may_leave() && endpoint_->ejected.ejects(stream_.peer(), worker_.reactor().now()));
  if (!may_leave) return nullptr;
  stream_.set_unanswered(0);  // without the call that is to find its way
  PeerLink* const chosen = worker_.choose_for_call(*endpoint_);
  return chosen != &stream_.link() ? chosen : nullptr;
}

// Gives the stream up and begins one to better_peer(), if there is one. Returns false if `call`
// must wait until the peer has taken all frames of the stream, as after a call whose deadline has
// passed.
bool ClientConnection::use_better_peer(const Call& call) {
  PeerLink* const better = better_peer();
  if (better == nullptr) return true;
  if (!stream_.all_taken()) {
    stream_.ask_whether_taken();
    return worker_.reactor().now() - call.started >= kLaneWait;
  }
  // Credit for bytes that the client has not taken would be lost with the stream.
  out_.empty() ? stream_.leave_idle() : leave_stream(FrameKind::kEnd);
  open_stream(*better);
  return true;
}

// Chooses the stream and the lane for `call`. Returns false if `call` must wait for a link, or for
// the answers to earlier calls.
bool ClientConnection::find_way(Call& call) {
  const bool stays = stays_with_retired_link();
  if (stream_.link_leaves() && !stays) {
    wait_for(Wait::kLane);
    detach_if_due();
    const bool owed = calls_.size() > 1;  // this stream still owes answers
    const bool goes_along = stream_.is_bound() && may_detach();
    const bool is_pinned = stream_.server() == OutboundStream::Server::kPinned;
    if (!is_pinned && (owed || !stream_.all_taken() || goes_along)) return false;
    wait_for(Wait::kNone);
  }
  if (!stays && !use_better_peer(call)) return wait_for_lane();
  if (!stays && !have_stream()) {
    start_waiting();
    return false;
  }
  if (call.by_peer.number != 0 && call.by_peer.link != &stream_.link()) plan_for_peer(call);
  worker_.keep_polling(call.polling.client);
  if (!take_lane(call)) return wait_for_lane();
  call.ordinal = stream_.next_ordinal();
  stream_.set_unanswered(calls_.size());
  return true;
}

// Lets the current call wait until resume() finds a way for it, for at most kLaneWait. Returns
// false.
bool ClientConnection::wait_for_lane() {
  wait_for(Wait::kLane);
  worker_.deadlines().set(lane_wait_, kLaneWait);
  return false;
}

// Makes `call` use the plan for calls to the peer of the stream. With `plan: learned` this is the
// choice that the worker learns about or has learned. Only connections that never had two
// unanswered calls take part in trials: others would wait for their answers whenever a trial begins
// or ends.
void ClientConnection::plan_for_peer(Call& call) {
  calls_.drop_learning(call);  // with the peer of an earlier stream
  call.polling.server.reset();
  PeerLink& link = stream_.link();
  call.by_peer.link = &link;
  pipelines_ = pipelines_ || calls_.size() > 1;
  if (!link.link().takes_calls()) return;  // it has the plans from before a reload
  PeerPlans::Function* function = link.plans().find(call.by_peer.number, *call.counters);
  if (function == nullptr) return want_carrier(call, route(call.head.get().name).client);
  LearnedRoute* learned = link.plans().learn(*function);
  if (learned == nullptr) return want_carrier(call, *function->plan);
  const bool joins = stream_.opened() && !pipelines_ && quiet();
  const LearnedRoute::Choice choice =
      joins ? learned->begin(worker_.reactor(), link) : learned->current();
  call.learned = {learned, choice.part, worker_.reactor().now(), choice.way->exact};
  call.polling = choice.polling;
  want_carrier(call, choice.way->plan, choice.way->lanes);
}

// Chooses the lane for `call`. To keep its frames in order, a stream moves to another lane only
// when the peer has taken all frames on the old lane. Returns false if `call` must wait for this;
// resume() then tries again. If the answers to earlier calls do not arrive within kLaneWait, or may
// never arrive, `call` uses the old lane, because the server may need `call` before it answers.
bool ClientConnection::take_lane(Call& call) {
  PeerLanes::Choice choice{0, Fallback::kNoFabric};
  if (call.rdma == RdmaWish::kWanted) {
    choice = call.learned.part.is_trial ? stream_.link().choose_for_trial(call.lane)
                                        : stream_.choose(call.lane);
  }
  const size_t before = calls_.size() - 1;
  if (choice.lane != stream_.lane_number() && before != 0 &&
      (calls_.may_all_be_oneway(before) || worker_.reactor().now() - call.started >= kLaneWait)) {
    if (const Call* sent = calls_.newest_sent(before)) choice = sent->choice;
    choice.why = Fallback::kUnanswered;
  }
  if (choice.lane != stream_.lane_number()) {
    if (!quiet()) {
      if (calls_.size() == 1) stream_.ask_whether_taken();
      return false;
    }
    stream_.use_lane(choice.lane);
  }
  call.choice = choice;
  return true;
}

void ClientConnection::leave_stream(FrameKind last) {
  if (!stream_.exists()) return;
  stream_.leave(last);
  forget_stream();
}

// Drops the stream, which has ended. The bytes in `out_` then cost no credit of the next stream.
void ClientConnection::forget_stream() {
  stream_.forget();
  if (waits_for_lane()) wait_for(Wait::kNone);
  ungranted_ = out_.size();
}

}  // namespace hat
