// SPDX-License-Identifier: Apache-2.0
#include "engine/link/lane_set.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <utility>

#include "engine/link/said_by_peer.h"

namespace hat::engine {
namespace {

LaneNonce fresh_nonce() {
  std::random_device random;
  LaneNonce nonce;
  for (size_t i = 0; i < nonce.size(); i += sizeof(uint32_t)) {
    const auto word = static_cast<uint32_t>(random());
    std::memcpy(nonce.data() + i, &word, sizeof word);
  }
  return nonce;
}

}  // namespace

LaneSet::LaneSet(Reactor& reactor, RdmaHost& host, Session::Role role, Lane& control,
                 const LaneSetOptions& options, LaneSetEvents& events)
    : reactor_(reactor),
      host_(host),
      role_(role),
      control_(control),
      options_(options),
      events_(events),
      timer_(reactor.timer([this] { look_after_all(); })) {
  timer_->set(reactor.now() + options_.probe_interval / 4);
}

LaneSet::~LaneSet() {
  end_deferred();
  if (domain_ && members_.empty()) release_domain();
}

// Deletes the lanes (objects of class Member) whose deletion was deferred. Must not be called from
// a callback of such a lane, because the callback would return to a deleted object.
void LaneSet::end_deferred() {
  for (const auto& member : std::exchange(deferred_, {})) {
    if (member->lane) domain_->poller(member->wish.lanes).retire(std::move(member->lane));
    if (member->reported) events_.on_lane_gone(*this, member->number);
  }
}

// Releases a domain without lanes if the link is down, if the domain has failed, or if it has had
// no lane for domain_linger. Keeps the domain while a peer can still access the memory of an ended
// lane, so that new lanes of the link use this domain, and the link never has several.
void LaneSet::release_unused_domain() {
  if (!domain_ || !deferred_.empty() || !domain_->empty()) return;
  const TimePoint now = reactor_.now();
  if (!unused_since_) unused_since_ = now;
  if (ended_ || domain_->failed() || now - *unused_since_ >= options_.domain_linger)
    release_domain();
}

// Ends the lanes of both classes, although only one class has failed, so that the link soon gets
// another domain.
void LaneSet::leave_failed_domain() {
  std::vector<uint32_t> numbers;
  for (const auto& [number, member] : members_) {
    if (member->lane) numbers.push_back(number);
  }
  for (const uint32_t number : numbers) {
    close(number, "the receive queue of the link's RDMA lanes has failed");
  }
}

void LaneSet::release_domain() {
  events_.on_domain_gone(*this);
  domain_.reset();
}

// --- Both sides ---

RdmaLane* LaneSet::lane(uint32_t number) {
  const auto found = members_.find(number);
  if (found == members_.end()) return nullptr;
  const bool there = found->second->state == State::kUp || found->second->state == State::kDown;
  return there ? found->second->lane.get() : nullptr;
}

void LaneSet::flush() {
  end_deferred();
  if (domain_has_failed()) leave_failed_domain();
  release_unused_domain();
  // The flush of a lane can end this lane and others, which removes them from members_.
  for (auto next = members_.begin(); next != members_.end();) {
    const uint32_t number = next->first;
    if (next->second->state == State::kUp) next->second->lane->flush();
    next = members_.upper_bound(number);
  }
}

bool LaneSet::all_taken() {
  bool all = true;
  for (const auto& [number, member] : members_) {
    if (member->state != State::kUp || member->lane->idle()) continue;
    all = false;
    if (std::exchange(member->asked, member->lane->messages()) == member->lane->messages())
      continue;
    member->lane->settle();
  }
  return all;
}

void LaneSet::end(const std::string& reason) {
  ended_ = true;  // first, so that no event opens another lane
  while (!members_.empty()) go_down(*members_.begin()->second, reason, false);
  timer_->cancel();
}

void LaneSet::close(uint32_t number, const std::string& reason) {
  const auto found = members_.find(number);
  if (found != members_.end()) go_down(*found->second, reason, true);
}

void LaneSet::report_closed(uint32_t number, const std::string& reason) {
  send(FrameKind::kLaneClose, number, std::as_bytes(std::span(reason)));
}

void LaneSet::go_down(Member& member, const std::string& reason, bool report) {
  if (member.state == State::kDown) return;
  const bool was_up = member.state == State::kUp;
  member.reported = was_up || role_ == Session::Role::kInitiator;
  member.state = State::kDown;
  if (member.lane) member.lane->end(reason);
  if (report) report_closed(member.number, reason);
  if (member.reported) events_.on_lane_down(*this, member.number, was_up, reason);
  const auto found = members_.find(member.number);
  deferred_.push_back(std::move(found->second));
  members_.erase(found);
}

Result<void> LaneSet::make_domain() {
  const TimePoint now = reactor_.now();
  if (why_no_domain_ && now - no_domain_since_ < options_.probe_interval)
    return std::unexpected(*why_no_domain_);
  auto domain = host_.domain_for_link(events_.budget_of_domain(*this));
  if (!domain) {
    why_no_domain_ = domain.error();
    no_domain_since_ = now;
    return std::unexpected(std::move(domain.error()));
  }
  why_no_domain_.reset();
  domain_ = std::move(*domain);
  owner_ = domain_->arena().new_owner();
  return {};
}

Result<void> LaneSet::make(Member& member, const LaneShape& out, const LaneShape& in) {
  if (!domain_) HAT_TRY_VOID(make_domain());
  unused_since_.reset();
  RdmaLaneOptions options = options_.lane;
  options.owner = owner_;
  options.rendezvous.message_bytes_max = kFramePayloadBytesMax;
  options.out = out;
  options.in = in;
  HAT_TRY(member.lane, RdmaLane::create(domain_->poller(member.wish.lanes), options, member));
  return {};
}

void LaneSet::come_up(Member& member) {
  member.state = State::kUp;
  member.last_used = member.probed = reactor_.now();
  events_.on_lane_up(*this, member.number);
}

void LaneSet::on_lane_frame(const FrameHeader& header, Bytes payload) {
  if (ended_) return;
  if (header.kind == FrameKind::kLaneOpen) return take_open(header.stream, payload);
  const auto found = members_.find(header.stream);
  if (found == members_.end()) return;  // the lane went down while the frame was on its way
  Member& member = *found->second;
  const bool initiates = role_ == Session::Role::kInitiator;
  if (header.kind == FrameKind::kLaneClose) {
    return go_down(member, "the peer: " + said_by_peer(payload), false);
  }
  if (header.kind == FrameKind::kLaneAccept && initiates && member.state == State::kOpening) {
    return take_accept(member, payload);
  }
  if (header.kind == FrameKind::kLaneReady && !initiates && member.state == State::kAccepted) {
    return take_ready(member, payload);
  }
  if (header.kind == FrameKind::kLaneUp && initiates) {
    if (member.state == State::kReady) return take_up(member, payload);
    // kLaneUp has no effect if the lane is up already, because a message on the lane has overtaken
    // this frame, which travels over TCP.
    if (member.state == State::kUp) return;
  }
  go_down(member, "the peer sent a message about the RDMA lane out of order", true);
}

// --- The initiator ---

uint32_t LaneSet::open(const LaneWish& wish) {
  if (ended_) return 0;
  const uint32_t number = ++last_number_;
  auto& member = members_[number] = std::make_unique<Member>(*this, number);
  member->wish = wish;
  member->began = reactor_.now();
  send(FrameKind::kLaneOpen, number, encode(LaneOpen{wish, host_.reach()}));
  return number;
}

void LaneSet::take_accept(Member& member, Bytes payload) {
  const auto accepted = decode_lane_accept(payload);
  if (!accepted) return go_down(member, accepted.error().message, true);
  if (const auto made = make(member, member.wish.out, accepted->back); !made) {
    return go_down(member, made.error().message, true);
  }
  // This side sends its offer before it connects its queue pair. As soon as the queue pair is
  // connected, a message may arrive at the other side, which must know the offer by then.
  send(FrameKind::kLaneReady, member.number, encode(member.lane->offer()));
  if (const auto connected = member.lane->connect(accepted->offer); !connected) {
    return go_down(member, connected.error().message, true);
  }
  member.state = State::kReady;
}

void LaneSet::take_up(Member& member, Bytes payload) {
  if (options_.nonces) {
    if (payload.size() != sizeof(LaneNonce)) {
      return go_down(member, "the peer sent no nonce for the RDMA lane", true);
    }
    member.lane->send({.kind = FrameKind::kLaneNonce, .stream = member.number}, {payload});
  }
  come_up(member);
}

// --- The acceptor ---

void LaneSet::take_open(uint32_t number, Bytes payload) {
  if (role_ != Session::Role::kAcceptor || members_.contains(number)) {
    return report_closed(number,
                         "this node opens the lanes of this link, or the lane's number is in use");
  }
  auto& member = members_[number] = std::make_unique<Member>(*this, number);
  member->began = reactor_.now();
  if (const auto accepted = accept(*member, payload); !accepted) {
    go_down(*member, accepted.error().message, true);
    events_.on_lane_refused(*this, accepted.error().message);
  }
}

Result<void> LaneSet::accept(Member& member, Bytes payload) {
  HAT_TRY(const LaneOpen wanted, decode_lane_open(payload));
  if (members_.size() > options_.lanes_max) {
    return fail(ErrorCode::kExhausted,
                "this link already has " + std::to_string(options_.lanes_max) +
                    " lanes, the maximum: use fewer distinct protocol and payload_size hints");
  }
  if (const std::string& reach = host_.reach(); wanted.reach != reach) {
    return fail(ErrorCode::kUnsupported,
                "the fabrics do not reach each other: '" + wanted.reach + "' and '" + reach + "'");
  }
  member.wish = wanted.wish;
  HAT_TRY(const LaneShape back, events_.on_lane_wanted(wanted.wish));
  HAT_TRY_VOID(make(member, back, wanted.wish.out));
  member.state = State::kAccepted;
  send(FrameKind::kLaneAccept, member.number, encode(LaneAccept{back, member.lane->offer()}));
  return {};
}

void LaneSet::take_ready(Member& member, Bytes payload) {
  const auto offer = decode_lane_offer(payload);
  if (!offer) return go_down(member, offer.error().message, true);
  if (const auto connected = member.lane->connect(*offer); !connected) {
    return go_down(member, connected.error().message, true);
  }
  if (options_.nonces) member.nonce = fresh_nonce();
  send(FrameKind::kLaneUp, member.number, options_.nonces ? Bytes(member.nonce) : Bytes());
  come_up(member);
}

void LaneSet::take_nonce(Member& member, const FrameHeader& header, Bytes payload) {
  member.shown = header.kind == FrameKind::kLaneNonce && std::ranges::equal(payload, member.nonce);
  if (member.shown) return;
  go_down(member,
          "the first message on the RDMA lane does not have the nonce that was sent on the link",
          true);
}

// --- The life of a lane ---

void LaneSet::look_after_all() {
  const TimePoint now = reactor_.now();
  std::vector<Member*> all;
  for (const auto& [number, member] : members_) all.push_back(member.get());
  for (Member* member : all) {
    if (member->state != State::kDown) look_after(*member, now);
  }
  if (domain_ && now - asked_for_memory_ >= options_.probe_interval) {
    asked_for_memory_ = now;
    domain_->arena().forget_refusals();
  }
  if (!ended_) timer_->set(now + options_.probe_interval / 4);
}

void LaneSet::look_after(Member& member, TimePoint now) {
  if (member.state != State::kUp) {
    if (now - member.began >= options_.open_timeout) {
      go_down(member, "the RDMA lane was not up within its time-out", true);
    }
    return;
  }
  RdmaLane& lane = *member.lane;
  if (const uint64_t moved = lane.messages(); moved != member.moved) {
    member.moved = moved;
    member.last_used = now;
  }
  if (!lane.probe_answered()) {
    if (now - member.probed < options_.probe_timeout) return;
    return go_down(member, "the other side's queue pair does not answer", true);
  }
  if (now - member.probed >= options_.probe_interval && lane.probe()) member.probed = now;
  const bool unused = now - member.last_used >= options_.idle_timeout;
  if (role_ != Session::Role::kInitiator || !unused) return;
  if (lane.due() != 0 || !events_.may_close(*this, member.number)) return;
  if (lane.idle()) return go_down(member, kIdle, true);
  lane.settle();
}

void LaneSet::Member::on_frame(const FrameHeader& header, Bytes payload) {
  // If the peer has a link version without nonces, its first message on the lane may arrive before
  // its kLaneUp, which travels over TCP; the lane is then up from this message on. With nonces,
  // such a message breaks the format.
  if (state == State::kReady && !set.options_.nonces) set.come_up(*this);
  if (state == State::kDown) return;
  if (state != State::kUp) {
    return set.go_down(*this, "the peer sent a message on the RDMA lane before it was up", true);
  }
  const bool must_show = set.options_.nonces && set.role_ == Session::Role::kAcceptor;
  if (must_show && !shown) return set.take_nonce(*this, header, payload);
  set.events_.on_lane_message(set, number, header, payload, lane->leg_of_delivery());
}

Landing LaneSet::Member::landing_for(const FrameHeader& header, bool is_next) {
  const bool must_show = set.options_.nonces && set.role_ == Session::Role::kAcceptor;
  if (state != State::kUp || (must_show && !shown)) return {};
  return set.events_.on_lane_landing(set, number, header, is_next);
}

void LaneSet::Member::on_returned(uint64_t frame) {
  set.events_.on_lane_returned(set, number, frame);
}

void LaneSet::Member::on_down(const std::string& reason) { set.go_down(*this, reason, true); }

}  // namespace hat::engine
