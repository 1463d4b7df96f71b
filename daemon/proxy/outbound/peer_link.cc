// SPDX-License-Identifier: Apache-2.0
#include "daemon/proxy/outbound/peer_link.h"

#include <glog/logging.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "base/transitions.h"
#include "daemon/proxy/outbound/client_connection.h"
#include "daemon/proxy/worker.h"
#include "daemon/proxy/worker_status.h"

namespace hat {

PeerLink::PeerLink(Worker& worker, const PeerConfig& peer, engine::SessionOptions options,
                   engine::RdmaHost* rdma, uint32_t seed)
    : worker_(worker),
      rdma_(rdma),
      without_lanes_(rdma == nullptr ? Fallback::kNoFabric : Fallback::kPeerHasNone),
      last_use_(worker.reactor().now()),
      plans_(std::make_shared<PeerPlans>(peer.name, name_in_file(peer), worker.index(), seed)),
      registrations_(worker.reactor()),
      landings_(worker.counters().rdma.landed_bytes),
      link_(worker.reactor(), peer.link, std::move(options),
            worker.node().limits.reconnect_backoff_max, seed, *this) {}

PeerLink::~PeerLink() = default;

void PeerLink::change_to(State next) {
  static constexpr Transition<State> kTransitions[] = {
      {State::kCurrent, State::kLeaving}, {State::kCurrent, State::kAgreed},
      {State::kLeaving, State::kAgreed},  {State::kCurrent, State::kRetired},
      {State::kRetired, State::kLeaving}, {State::kRetired, State::kAgreed},
      {State::kRetired, State::kFinished}};
  DCHECK(is_listed(kTransitions, state_, next));
  state_ = next;
}

// --- Streams ---

PeerLink::StreamEntry& PeerLink::open_stream(ClientConnection& connection) {
  DCHECK(link_.takes_calls());
  for (;;) {  // numbers start again after 2^32 streams, so skips those of streams that still exist
    const auto [opened, is_new] = streams_.emplace(link_.next_stream(), &connection);
    if (!is_new) continue;
    link_.session().set_carries_streams(true);
    return *opened;
  }
}

void PeerLink::keep_idle_stream(IdleStream stream) {
  DCHECK(has_space_for_idle_stream());
  stream.state.entry->second = nullptr;
  idle_.push_back(std::move(stream));
  worker_.counters().idle_streams.add();
  note_use_of_streams();
}

std::optional<IdleStream> PeerLink::take_idle_stream(ClientConnection& connection) {
  const auto found = std::ranges::find(idle_.rbegin(), idle_.rend(), &connection.endpoint(),
                                       &IdleStream::endpoint);
  if (found == idle_.rend()) return std::nullopt;
  IdleStream taken = std::move(*found);
  idle_.erase(std::next(found).base());
  worker_.counters().idle_streams.sub();
  taken.state.entry->second = &connection;
  link_.session().set_carries_streams(true);
  return taken;
}

void PeerLink::end_idle_streams() {
  end_idle_streams(engine::FrameKind::kEnd, [](const IdleStream&) { return true; });
}

// Ends the idle streams that `which` selects by sending the frame `last` over the TCP connection:
// nothing of them is on its way on another lane.
template <class Which>
void PeerLink::end_idle_streams(engine::FrameKind last, Which which) {
  const size_t ended = std::erase_if(idle_, [&](const IdleStream& one) {
    if (!which(one)) return false;
    const uint32_t stream = one.state.entry->first;
    if (link_.up()) link_.lane().send({.kind = last, .stream = stream}, {});
    streams_.erase(stream);
    return true;
  });
  worker_.counters().idle_streams.sub(ended);
}

// Handles a frame of an idle stream. Credit can follow the last answer. By any other frame the peer
// ends the stream or makes a mistake.
void PeerLink::on_idle_stream_frame(StreamEntry& stream, const engine::FrameHeader& header,
                                    uint32_t lane) {
  const auto found = std::ranges::find(
      idle_, &stream, [](const IdleStream& one) -> const StreamEntry* { return one.state.entry; });
  DCHECK(found != idle_.end());
  if (header.kind == engine::FrameKind::kCredit || header.kind == engine::FrameKind::kSynced) {
    return found->state.note_frame(header, lane);
  }
  if (header.kind != engine::FrameKind::kReset) reset(stream.first);
  idle_.erase(found);
  worker_.counters().idle_streams.sub();
  streams_.erase(header.stream);
}

void PeerLink::end_stream(uint32_t stream, uint32_t lane, engine::FrameKind last) {
  engine::Lane& carrier = lane == 0 ? link_.lane() : lanes_->lane(lane);
  const uint64_t number = carrier.send({.kind = last, .stream = stream}, {});
  if (lane != 0) last_frames_.push_back({stream, lane, number});
}

void PeerLink::forget_stream(uint32_t stream) {
  streams_.erase(stream);
  note_use_of_streams();
}

// Notes the time at which a client has left a stream.
void PeerLink::note_use_of_streams() {
  last_use_ = worker_.reactor().now();
  if (streams() == 0 && link_.up()) link_.session().set_carries_streams(false);
}

// Returns a copy, because the caller can make a connection close, which removes it from `streams_`.
std::vector<ClientConnection*> PeerLink::connections() const {
  std::vector<ClientConnection*> all;
  for (const auto& [id, connection] : streams_) {
    if (connection != nullptr) all.push_back(connection);
  }
  return all;
}

void PeerLink::on_stream_frame(const engine::FrameHeader& header, engine::Bytes payload,
                               FrameSource source) {
  const auto stream = streams_.find(header.stream);
  if (stream == streams_.end()) return;
  if (stream->second == nullptr) return on_idle_stream_frame(*stream, header, source.lane);
  stream->second->on_frame(header, payload, source);
}

engine::Landing PeerLink::on_lane_landing(uint32_t lane, const engine::FrameHeader& header,
                                          bool is_next) {
  const auto stream = streams_.find(header.stream);
  if (stream == streams_.end() || stream->second == nullptr) return {};
  return stream->second->landing_for(header, {lane, link_memory(), landings_, is_next});
}

void PeerLink::flush() {
  if (!lanes_) {
    last_frames_.clear();
  } else if (!last_frames_.empty()) {
    std::erase_if(last_frames_, [&](const LastFrame& one) {
      const engine::Lane* lane = lanes_->find(one.lane);
      return lane == nullptr || lane->fate(one.number) == engine::Fate::kDelivered;
    });
  }
  if (state_ == State::kLeaving && link_.up() && peer_has_all()) agree_to_go_away();
  if (lanes_) lanes_->flush();
  link_.flush();
  if (state_ == State::kRetired && link_.up() && streams_.empty() && all_sent()) {
    if (lanes_) lanes_->expect_end();
    change_to(State::kFinished);
    link_.finish();
  }
}

// Returns true if the peer has taken all frames, also those that were lost with a lane and are sent
// again when the peer has answered.
bool PeerLink::peer_has_all() const {
  return lanes_->all_taken() && std::ranges::none_of(streams_, [](const auto& stream) {
           return stream.second != nullptr && stream.second->awaits_resume();
         });
}

bool PeerLink::all_sent() const {
  if (!link_.up()) return true;
  return link_.lane().idle() && (!lanes_ || peer_has_all());
}

// --- The link ---

CarrierNow PeerLink::carrier_now(const WantedLane& wanted) const {
  if (lanes_ == nullptr) return {.why = without_lanes_};
  PeerLanes::Outlook outlook = lanes_->outlook(wanted.at(peer_cores_));
  CarrierNow now{.why = outlook.choice.why,
                 .last_error = std::move(outlook.last_error),
                 .is_first_call = !outlook.exists && outlook.choice.why == Fallback::kOpening};
  if (outlook.choice.lane != 0) now.protocols = lanes_->protocols_of(outlook.choice.lane);
  return now;
}

void PeerLink::on_link_up(engine::Link&) {
  up_since_ = worker_.reactor().now();
  worker_.counters().peer_events.add(link_.peer(), PeerEvent::kSession);
  LOG(INFO) << "peer " << link_.peer() << ": link up at " << to_string(link_.address());
  engine::Session& session = link_.session();
  session.set_carries_streams(false);
  peer_cores_ = session.peer().cores.value_or(worker_.routes().cores());
  if (rdma_ != nullptr && session.peer().legs != 0) {
    lanes_ = std::make_unique<PeerLanes>(worker_.reactor(), *rdma_, session,
                                         worker_.node().limits.lane_settle, *this);
    costs_ =
        std::make_unique<engine::CalibrationSession>(worker_.reactor(), session.lane(), nullptr);
    session.set_costs(costs_.get());
  }
  worker_.on_link_news();
}

void PeerLink::on_link_going_away(engine::Link&) {
  if (state_ == State::kRetired) {
    begin_to_leave();
    for (ClientConnection* connection : connections()) connection->on_retired_peer_leaves();
    return;
  }
  if (state_ != State::kCurrent) return;  // the peer has announced this before
  LOG(INFO) << "peer " << link_.peer()
            << ": it is shutting down or is replaced; new calls use a new link";
  begin_to_leave();
  worker_.replace(*this);
}

void PeerLink::begin_to_leave() {
  end_idle_streams();
  if (lanes_) {
    lanes_->expect_end();
    change_to(State::kLeaving);
  } else {
    agree_to_go_away();
  }
}

void PeerLink::retire() {
  end_idle_streams();
  change_to(State::kRetired);
  const bool was_trying = link_.trying();
  link_.retire();  // calls on_link_down() if the link is being built
  if (!was_trying) worker_.defer_delete(*this);
}

void PeerLink::agree_to_go_away() {
  change_to(State::kAgreed);
  link_.agree_to_go_away();
}

void PeerLink::on_link_down(engine::Link&, bool was_up, const std::string& reason) {
  const bool is_replaced = state_ != State::kCurrent;
  if (state_ == State::kFinished) {
    VLOG(1) << "peer " << link_.peer() << ": an unused link has ended: " << reason;
  } else if (is_replaced) {
    LOG(INFO) << "peer " << link_.peer() << ": its old link has ended: " << reason;
  } else if (was_up) {
    LOG(WARNING) << "peer " << link_.peer() << ": link down: " << reason;
  }
  end_idle_streams();
  const auto streams = std::exchange(streams_, {});
  if (lanes_) {
    lanes_->end(reason);
    worker_.defer_delete(std::move(lanes_));
    costs_->end("the link went down: " + reason);
    worker_.defer_delete(std::move(costs_));
  }
  for (const auto& [id, connection] : streams) connection->on_session_lost(reason);
  if (is_replaced) worker_.defer_delete(*this);
  worker_.on_link_news();
}

void PeerLink::defer_delete(std::unique_ptr<engine::Session> session) {
  worker_.defer_delete(std::move(session));
}

// --- Lanes; 0 is the link's TCP connection ---

bool PeerLink::has_clients(const std::vector<size_t>& endpoints) const {
  return std::ranges::any_of(streams_, [&](const auto& stream) {
    return stream.second != nullptr &&
           std::ranges::find(endpoints, stream.second->endpoint().number) != endpoints.end();
  });
}

bool PeerLink::has_streams(uint32_t lane) const {
  return std::ranges::any_of(streams_, [lane](const auto& stream) {
    return stream.second != nullptr && stream.second->may_use_lane(lane);
  });
}

void PeerLink::on_lane_closing(uint32_t lane) {
  end_idle_streams(engine::FrameKind::kEnd,
                   [lane](const IdleStream& one) { return one.state.lane == lane; });
}

// --- Learning ---

PeerLink::Readiness PeerLink::prepare(const LearnedWay& way) {
  if (way.plan.path == Path::kTcp) return Readiness::kUp;
  if (!lanes_) return Readiness::kUnable;
  const std::array keys = {way.lanes.small.at(peer_cores_), way.lanes.large.at(peer_cores_)};
  const size_t distinct = keys[0] == keys[1] ? 1 : 2;
  return lanes_->prepare(std::span(keys).first(distinct), way.exact);
}

void PeerLink::release(const LearnedWay& way) {
  if (way.plan.path == Path::kTcp || !lanes_) return;
  for (const WantedLane* wanted : {&way.lanes.small, &way.lanes.large}) {
    const LaneKey& key = wanted->at(peer_cores_);
    if (!plans_->is_wanted(key, peer_cores_)) lanes_->release(key);
  }
}

void PeerLink::on_lane_failed(const LaneKey& key) {
  if (state_ != State::kCurrent) return;  // the link that replaces this one learns from its own
  plans_->on_lane_failed(key, peer_cores_, worker_.reactor().now(), *this);
}

// Lets the streams on the lane ask whether they can continue. With a peer of an older link version,
// ends them at both sides, because frames that were on their way can be lost.
void PeerLink::on_lane_lost(uint32_t lane, const std::string& reason) {
  worker_.flush_again();
  // The peer waits for a question whether these streams continue.
  end_idle_streams(engine::FrameKind::kReset,
                   [lane](const IdleStream& one) { return one.state.lane == lane; });
  std::vector<std::pair<uint32_t, ClientConnection*>> lost;
  for (const auto& [id, connection] : streams_) {
    if (connection != nullptr && connection->lane_number() == lane)
      lost.emplace_back(id, connection);
  }
  const bool may_resume = link_.up() && knows_resumes(link_.session().peer());
  for (const auto& [id, connection] : lost) {
    if (!may_resume) reset(id);
  }
  std::erase_if(last_frames_, [&](const LastFrame& one) {
    if (one.lane != lane) return false;
    if (lanes_->find(lane)->fate(one.number) != engine::Fate::kDelivered) reset(one.stream);
    return true;
  });
  for (const auto& [id, connection] : lost) {
    may_resume ? connection->on_lane_lost("RDMA lane: " + reason)
               : connection->on_session_lost("RDMA lane: " + reason);
  }
}

void PeerLink::reset(uint32_t stream) {
  if (link_.up()) link_.lane().send({.kind = engine::FrameKind::kReset, .stream = stream}, {});
}

}  // namespace hat
