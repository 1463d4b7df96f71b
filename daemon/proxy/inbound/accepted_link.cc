// SPDX-License-Identifier: Apache-2.0
#include "daemon/proxy/inbound/accepted_link.h"

#include <glog/logging.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "daemon/proxy/worker.h"
#include "engine/link/said_by_peer.h"

namespace hat {

using engine::FrameHeader;
using engine::FrameKind;

namespace {
constexpr size_t kLostStreamsMax = 1024;

// Sends `frame` with the reason that the stream has lost its RDMA lane. `delivered`: the server may
// have seen the stream's calls.
void send_lane_lost(engine::Lane& lane, const FrameHeader& frame, bool delivered) {
  const engine::FailMeta meta{engine::Failure::kLinkLost, delivered};
  lane.send(frame, {std::as_bytes(std::span(&meta, 1)),
                    std::as_bytes(std::span(ServerStream::kLaneLost))});
}
}  // namespace

AcceptedLink::AcceptedLink(Worker& worker, engine::SessionOptions options,
                           const engine::OpenStream& open)
    : worker_(worker),
      registrations_(worker.reactor()),
      landings_(worker.counters().rdma.landed_bytes) {
  engine::SessionEvents& events = *this;
  session_ = std::make_unique<engine::Session>(worker.reactor(), engine::Session::Role::kAcceptor,
                                               std::move(options), open, events);
}

AcceptedLink::~AcceptedLink() {
  // Destroys the streams before the lanes: the destructor of one stream can give a connection to
  // another stream, which then sends frames.
  streams_.clear();
  if (share_) worker_.peer_shares().add(&PeerShare::links, *share_, -1);
}

// --- The session ---

std::string AcceptedLink::identity() const {
  std::string names;
  for (const std::string& name : session_->peer_names()) names += name + '\n';
  return names.empty() ? session_->peer().node : names;
}

Result<void> AcceptedLink::on_hello(engine::Session&) {
  DCHECK(!share_) << "a session reports one hello";
  PeerShares& shares = worker_.peer_shares();
  auto share = shares.of(identity());
  if (!shares.has_space(&PeerShare::links, *share, worker_.node().limits.links_max)) {
    worker_.counters().links_refused.add();
    return fail(ErrorCode::kExhausted,
                "node " + worker_.node().node + ": limits.max_links is reached");
  }
  share_ = std::move(share);
  shares.add(&PeerShare::links, *share_, 1);
  return {};
}

void AcceptedLink::log(const std::string& what) {
  const auto left_out = worker_.link_lines().take(worker_.reactor().now());
  if (!left_out) return;
  LOG(INFO) << "peer " << session_->peer().node << ": " << what
            << (*left_out == 0 ? "" : " (" + std::to_string(*left_out) + " such lines left out)");
}

void AcceptedLink::on_session_up(engine::Session&) {
  session_->set_carries_streams(false);
  std::string proved;
  for (const std::string& name : session_->peer_names())
    proved += (proved.empty() ? "" : ", ") + name;
  log("opened a link to this node" + (proved.empty() ? "" : ", as " + proved));
  if (worker_.rdma() != nullptr && session_->peer().legs != 0) {
    offer_lanes(*worker_.rdma(), worker_.answerer());
  }
  if (leaves()) begin_drain();
}

void AcceptedLink::on_session_down(engine::Session&, const std::string& reason) {
  if (share_) {
    log("its link to this node ended: " + reason);
  } else {
    LOG_EVERY_T(WARNING, 1) << "link: a connection was refused: " << reason;
  }
  worker_.defer_delete(*this);
  for (const auto& [id, stream] : streams_) stream->stop_waiting();
  if (lanes_) lanes_->end(reason);  // also ends the streams on the lanes
  for (const auto& [id, stream] : streams_) stream->on_link_lost(reason);
  if (costs_) costs_->end("the link went down: " + reason);
}

void AcceptedLink::offer_lanes(engine::RdmaHost& host, engine::CostAnswerer* answerer) {
  engine::LaneSetEvents& events = *this;
  Reactor& reactor = worker_.reactor();
  const bool nonces = knows_nonces(session_->peer());
  lanes_ = std::make_unique<engine::LaneSet>(reactor, host, engine::Session::Role::kAcceptor,
                                             session_->lane(),
                                             engine::LaneSetOptions{.nonces = nonces}, events);
  session_->set_lanes(lanes_.get());
  answerer_ = answerer;
  if (answerer == nullptr) return;
  engine::CostAnswerer& guarded = *this;
  costs_ = std::make_unique<engine::CalibrationSession>(reactor, session_->lane(), &guarded);
  session_->set_costs(costs_.get());
}

// --- Streams ---

// Answers a calibration session of the peer. Refuses a restricted peer, because a calibration uses
// a core for seconds.
Result<std::shared_ptr<engine::CalibrationJob>> AcceptedLink::answer(const engine::CostOpen& open) {
  if (worker_.routes().restricts(session_->peer_names())) {
    return fail(ErrorCode::kDenied,
                "a rule (`allow`) of node " + worker_.node().node +
                    " restricts this node, so it may not calibrate with that node");
  }
  return answerer_->answer(open);
}

void AcceptedLink::take(uint32_t lane, const FrameHeader& header, engine::Bytes payload) {
  worker_.reactor().assert_in_loop();
  if (header.kind == FrameKind::kOpen) return open_stream(lane, header, payload, nullptr);
  if (header.kind == FrameKind::kAttach) return attach_stream(lane, header, payload);
  if (header.kind == FrameKind::kGoAway) {
    agreed_to_go_away_ = true;
    return;
  }
  const auto stream = streams_.find(header.stream);
  if (stream != streams_.end()) return stream->second->on_frame(lane, header, payload);
  if (lane == 0) {
    if (header.kind == FrameKind::kResume) resume_unknown(header.stream, payload);
    return;
  }
  // The stream has ended in this daemon, but the peer may not know this if the lane that carried
  // the stream's last frame is lost. A new call is therefore answered with a kReset frame. The
  // answer's `replies` makes the peer's RDMA lane expect one reply less, as the call gets no reply.
  const bool begins = header.kind == FrameKind::kCall;
  const uint16_t due = header.replies != 0 ? 1 : 0;
  if (!begins && due == 0) return;
  const FrameHeader answer{.kind = begins ? FrameKind::kReset : FrameKind::kCredit,
                           .replies = due,
                           .stream = header.stream};
  if (!begins || std::ranges::find(lost_, header.stream) == lost_.end()) {
    this->lane(lane).frames->send(answer, {});
    return;
  }
  // Another kReset frame with the reason was sent over TCP when the stream lost its lane. The
  // answer has the reason too, because the answer can arrive before the other kReset frame.
  send_lane_lost(*this->lane(lane).frames, answer, true);
}

// Answers a kResume frame of a stream that does not exist in this daemon. The stream may have
// ended, and the frame that has ended it may be lost with its lane. If the peer certainly has not
// opened the stream, all frames of the stream were lost, so the peer can send them again.
void AcceptedLink::resume_unknown(uint32_t stream, engine::Bytes payload) {
  engine::ResumeMeta meta;
  const bool was_opened = payload.size() != sizeof meta || opened_.may_have(stream);
  const FrameHeader end{.kind = FrameKind::kReset, .stream = stream};
  if (was_opened) return send_lane_lost(session_->lane(), end, true);
  std::memcpy(&meta, payload.data(), sizeof meta);
  if (meta.kept < meta.counts.sent) return send_lane_lost(session_->lane(), end, false);
  const uint64_t received = 0;
  session_->lane().send({.kind = FrameKind::kResumed, .stream = stream},
                        {std::as_bytes(std::span(&received, 1))});
}

void AcceptedLink::attach_stream(uint32_t lane, const FrameHeader& header, engine::Bytes payload) {
  engine::ConnectionToken token{};
  std::ranges::copy(payload.first(std::min(payload.size(), token.size())), token.begin());
  open_stream(lane, header, payload.subspan(std::min(payload.size(), token.size())), &token);
}

void AcceptedLink::open_stream(uint32_t lane, const FrameHeader& header, engine::Bytes payload,
                               const engine::ConnectionToken* token) {
  opened_.note(header.stream);
  constexpr size_t kShownBytesMax = 255;
  const std::string service(reinterpret_cast<const char*>(payload.data()),
                            std::min(payload.size(), kShownBytesMax));
  const std::shared_ptr<const Served> served = worker_.find_served(service);
  const auto refuse = [&](engine::Failure failure, const std::string& detail) {
    const engine::FailMeta meta{failure, 0};
    this->lane(lane).frames->send(
        {.kind = FrameKind::kReset, .stream = header.stream},
        {std::as_bytes(std::span(&meta, 1)), std::as_bytes(std::span(detail))});
  };
  if (!served || streams_.contains(header.stream)) {
    return refuse(engine::Failure::kUnknownService,
                  "node " + worker_.node().node + " does not serve '" + service + "'");
  }
  if (!worker_.peer_shares().has_space(&PeerShare::streams, *share_,
                                       worker_.node().limits.peer_streams_max)) {
    worker_.counters().peer_streams_refused.add();
    return refuse(engine::Failure::kOverloaded,
                  "node " + worker_.node().node + ": limits.max_peer_connections is reached");
  }
  session_->set_carries_streams(true);
  const auto opened = streams_.emplace(
      header.stream, std::make_unique<ServerStream>(worker_, *this, header.stream, lane, served));
  if (token != nullptr) opened.first->second->attach(*token);
}

std::string AcceptedLink::over_limit_text() const {
  const std::string where = "node " + worker_.node().node + ": ";
  if (worker_.over_buffer_limit()) return where + "limits.max_buffered is reached";
  return where + "peer " + peer().node + " has reached its quarter of limits.max_buffered";
}

void AcceptedLink::end_stream(uint32_t id) {
  const auto found = streams_.find(id);
  if (found == streams_.end()) return;
  worker_.defer_delete(std::move(found->second));
  streams_.erase(found);
  if (streams_.empty()) session_->set_carries_streams(false);
}

void AcceptedLink::on_new_routes() {
  std::vector<ServerStream*> streams;  // a copy, because a stream can end and leave `streams_`
  for (const auto& [id, stream] : streams_) streams.push_back(stream.get());
  for (ServerStream* stream : streams) stream->on_new_routes();
}

void AcceptedLink::begin_drain() { session_->lane().send({.kind = FrameKind::kGoAway}, {}); }

bool AcceptedLink::drained() {
  return peer_turned() && session_->lane().idle() &&
         std::ranges::all_of(
             streams_, [](const auto& s) { return s.second->idle() && !s.second->can_move(); }) &&
         (!lanes_ || lanes_->all_taken());
}

void AcceptedLink::leave() {
  if (departure_ == Departure::kNone) departure_ = Departure::kBegun;
  if (session_->up()) begin_drain();
}

void AcceptedLink::flush() {
  if (lanes_) lanes_->flush();
  session_->lane().flush();
  if (departure_ != Departure::kBegun || !session_->up() || !drained()) return;
  if (std::ranges::any_of(streams_, [](const auto& s) { return s.second->stays(); })) return;
  departure_ = Departure::kFinished;
  session_->finish();
}

// --- RDMA lanes ---

Result<engine::LaneShape> AcceptedLink::on_lane_wanted(const engine::LaneWish& wish) {
  if (worker_.draining())
    return fail(ErrorCode::kUnavailable, "node " + worker_.node().node + " is shutting down");
  for (const engine::LaneShape& shape : {wish.out, wish.back}) {
    const uint32_t needed = engine::bit_of(shape.leg) | engine::bit_of(shape.beyond);
    if ((needed & ~worker_.rdma()->legs()) != 0) {
      return fail(ErrorCode::kUnsupported, "the fabric of node " + worker_.node().node +
                                               " does not support the lane's protocol");
    }
  }
  return wish.back;  // takes the peer's shape, because both nodes should have the same manifest
}

void AcceptedLink::on_lane_refused(engine::LaneSet&, const std::string& reason) {
  worker_.counters().rdma.lanes_refused.add();
  LOG_EVERY_T(WARNING, 1) << "peer " << session_->peer().node
                          << ": an RDMA lane was refused; calls that want it use TCP: "
                          << engine::said_by_peer(std::as_bytes(std::span(reason)));
}

std::shared_ptr<engine::RdmaBudget> AcceptedLink::budget_of_domain(engine::LaneSet&) {
  if (!share_->rdma) {
    share_->rdma.emplace("the links of one peer", PeerShare::kPart, worker_.rdma()->budget());
  }
  return {share_, &*share_->rdma};
}

void AcceptedLink::on_lane_message(engine::LaneSet&, uint32_t lane, const FrameHeader& header,
                                   engine::Bytes payload, engine::Leg) {
  take(lane, header, payload);
  landings_.handled(payload.data());
}

engine::Landing AcceptedLink::on_lane_landing(engine::LaneSet&, uint32_t lane,
                                              const FrameHeader& header, bool is_next) {
  const auto stream = streams_.find(header.stream);
  if (stream == streams_.end()) return {};
  return stream->second->landing_for(header, {lane, link_memory(), landings_, is_next});
}

// Suspends the streams on the lane until the peer asks whether they can continue. With a peer of an
// older link version, ends them at both sides, because frames that were on their way can be lost.
void AcceptedLink::on_lane_down(engine::LaneSet&, uint32_t lane, bool was_up,
                                const std::string& reason) {
  if (was_up) {
    VLOG(1) << "peer " << session_->peer().node << ": RDMA lane " << lane << " down: " << reason;
  }
  const bool may_resume = session_->up() && knows_resumes(peer());
  std::vector<ServerStream*> lost;
  for (const auto& [id, stream] : streams_) {
    // If a peer of an older link version has ended its direction of the stream, all its frames have
    // arrived. The replies that are due go over TCP, after the frame that closes the lane.
    if (!stream->leave_lane(lane) || (!may_resume && stream->peer_has_ended())) continue;
    lost.push_back(stream.get());
    lost_.push_back(id);
    if (lost_.size() > kLostStreamsMax) lost_.pop_front();
  }
  if (may_resume) {
    for (ServerStream* stream : lost) stream->suspend();
    return;
  }
  for (ServerStream* stream : lost) stream->stop_waiting();
  for (ServerStream* stream : lost) stream->on_lane_lost(reason);
}

}  // namespace hat
