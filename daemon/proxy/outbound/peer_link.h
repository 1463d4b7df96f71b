// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/outbound/peer_link.h: a worker's link to one peer, with the link's RDMA lanes and
// the client connections that have a stream on the link.
//
//   kCurrent ──▶ kLeaving ──▶ kAgreed
//       │  └─────────▲───────────▲
//       └──▶ kRetired┴───────────┴──▶ kFinished
// kCurrent    The link carries old and new streams. The state ends when the peer announces by a
//             kGoAway frame that it shuts down, or with retire().
// kRetired    The link carries its streams until they end, because a reload has removed the peer or
//             changed its address, or because no client has needed the link for long.
// kLeaving    This side waits until all frames on the RDMA lanes have arrived; without RDMA lanes
//             this state is skipped.
// kAgreed     This side has answered with a kGoAway frame.
// kFinished   No stream is left on a retired link: this side has sent everything, and waits for the
//             link's end.
// After kCurrent, new streams use another PeerLink, if the configuration has the peer. The worker
// deletes the old PeerLink when its link ends.
//
// Thread   the worker's.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "config/node.h"
#include "daemon/proxy/landings.h"
#include "daemon/proxy/outbound/peer_lanes.h"
#include "daemon/proxy/outbound/peer_plans.h"
#include "daemon/proxy/outbound/peer_speeds.h"
#include "daemon/proxy/outbound/stream_state.h"
#include "daemon/proxy/zero_copy.h"
#include "engine/link/calibration_session.h"
#include "engine/link/link.h"

namespace hat {

class ClientConnection;
class Worker;
struct CarrierNow;
struct Endpoint;

// A stream without a client connection. The peer has taken all of its frames and answered all of
// its calls, and has no connection to the server for it. A client of the endpoint can use it.
struct IdleStream {
  StreamState state;
  std::shared_ptr<PeerSpeed> speed;
  const Endpoint* endpoint = nullptr;  // a current one
};

class PeerLink final : public engine::LinkEvents, public PeerLanesEvents, public TrialLanes {
 public:
  // Makes a link that does not connect yet. `rdma` is null if this host has no fabric. `seed` is
  // for the random times between attempts to connect.
  PeerLink(Worker& worker, const PeerConfig& peer, engine::SessionOptions options,
           engine::RdmaHost* rdma, uint32_t seed);
  ~PeerLink() override;

  engine::Link& link() { return link_; }
  const engine::Link& link() const { return link_; }
  // Returns the RDMA lanes of the link's session. Returns null if the link is down, or if either
  // daemon has no RDMA.
  PeerLanes* lanes() const { return lanes_.get(); }
  // Returns the calibration session; returns null if lanes() returns null.
  engine::CalibrationSession* costs() const { return costs_.get(); }
  // Returns the memory of clients' rings that the RDMA lanes use. May be called only while the link
  // has an RDMA lane.
  LinkMemory link_memory() { return {lanes_->fabric(), registrations_}; }
  BorrowedRanges& borrowed_ranges() { return borrowed_ranges_; }

  // Returns the lane for a call that wants the lane `wanted`, from a client of this endpoint.
  PeerLanes::Choice choose(const WantedLane& wanted, size_t endpoint) {
    return lanes_ ? lanes_->choose(wanted.at(peer_cores_), endpoint)
                  : PeerLanes::Choice{.why = without_lanes_};
  }
  // Returns the lane for a call of a trial.
  PeerLanes::Choice choose_for_trial(const WantedLane& wanted) {
    return lanes_ ? lanes_->choose_for_trial(wanted.at(peer_cores_))
                  : PeerLanes::Choice{.why = without_lanes_};
  }
  // Returns what would carry a call that wants the lane `wanted` now. Opens no lane.
  CarrierNow carrier_now(const WantedLane& wanted) const;
  Readiness prepare(const LearnedWay& way) override;
  void release(const LearnedWay& way) override;
  // Returns what was learned about the calls to the peer. When a link is replaced, the new link
  // continues.
  PeerPlans& plans() { return *plans_; }
  const PeerPlans& plans() const { return *plans_; }
  void continue_learning(const PeerLink& replaced) {
    plans_ = replaced.plans_;
    calls_ = replaced.calls_;
  }

  // Sets how this peer is preferred to others (PeerConfig::weight, PeerConfig::zone).
  void set_preference(const PeerConfig& peer, const NodeConfig& node) {
    weight_ = peer.weight;
    is_near_ = !node.zone.empty() && peer.zone == node.zone;
  }
  uint32_t weight() const { return weight_; }
  bool is_near() const { return is_near_; }  // the peer is in the zone of this node

  // Notes that a client may need the link, and makes it connect if it is idle.
  void wake(TimePoint now) {
    last_use_ = now;
    if (link().state() == engine::LinkState::kIdle) link().connect_now();
  }
  // Returns true if no stream uses the link, and none has since `time`, and wake() was not
  // called since then.
  bool is_unused_since(TimePoint time) const { return streams() == 0 && last_use_ <= time; }

  // Begins a stream for `connection`, and returns the stream's entry, which stays at this address
  // until forget_stream(). Call it only while the link can carry new calls (Link::takes_calls()).
  using StreamEntry = std::pair<const uint32_t, ClientConnection*>;
  StreamEntry& open_stream(ClientConnection& connection);
  // Idle streams, at most kIdleStreamsMax: a call that uses one costs no frames kOpen and kEnd, and
  // its peer no wake-up for another peer's call. The link ends them with its lane, before it ends,
  // and when the configuration changes.
  static constexpr size_t kIdleStreamsMax = 64;
  bool has_space_for_idle_stream() const {
    return state_ == State::kCurrent && idle_.size() < kIdleStreamsMax;
  }
  // Keeps a stream of this link. has_space_for_idle_stream() must return true.
  void keep_idle_stream(IdleStream stream);
  // Gives `connection` an idle stream of its endpoint; returns nothing if there is none.
  std::optional<IdleStream> take_idle_stream(ClientConnection& connection);
  // Ends all idle streams.
  void end_idle_streams();
  // Ends a stream by sending the frame `last` on the lane with the number `lane`. If this lane
  // fails before it has delivered the frame, the PeerLink sends a kReset frame for the stream over
  // the link's TCP connection.
  void end_stream(uint32_t stream, uint32_t lane, engine::FrameKind last);
  // Drops later frames of the stream. Does nothing if the stream is unknown.
  void forget_stream(uint32_t stream);
  // Returns how many calls on this link are not answered.
  size_t unanswered() const { return unanswered_; }
  // Counts a call whose first piece is sent to the peer.
  void note_call() { ++calls_; }
  // Returns how many calls the peer got on this link, and on those that it has replaced.
  uint64_t calls() const { return calls_; }
  // Returns how many client connections have a stream on this link.
  size_t streams() const { return streams_.size() - idle_.size(); }
  // Returns when the link came up; meaningless while it is down.
  TimePoint up_since() const { return up_since_; }
  // Replaces `before`, the number of unanswered calls of one stream, by `now`.
  void count_unanswered(size_t before, size_t now) {
    DCHECK_GE(unanswered_, before) << "less than no call is unanswered";
    unanswered_ += now - before;
  }
  // Returns the client connections that have a stream on this link.
  std::vector<ClientConnection*> connections() const;

  // Lets the streams continue, and ends the link once none is left. Call it only in kCurrent. The
  // link must be in the worker's list of replaced links.
  void retire();
  // Returns true if the peer continues to serve the streams of a link that was retired.
  bool is_retired() const { return state_ == State::kRetired; }

  // Sends the frames of this event-loop iteration.
  void flush();
  // Returns true if the TCP connection has no frame to send, and the peer has taken all frames on
  // the RDMA lanes. Also returns true while the link is down.
  bool all_sent() const;
  bool peer_has_all() const;

  // Passes a frame from the link or from one of its lanes on to the stream's client connection.
  void on_stream_frame(const engine::FrameHeader& header, engine::Bytes payload,
                       FrameSource source);

 private:
  enum class State : uint8_t {
    kCurrent,
    kLeaving,  // this side answers with a kGoAway once all frames on its RDMA lanes have arrived
    kAgreed,
    kRetired,
    kFinished,
  };
  struct LastFrame {
    uint32_t stream = 0;
    uint32_t lane = 0;
    uint64_t number = 0;  // the frame's number, for Lane::fate()
  };

  void on_link_up(engine::Link&) override;
  void on_link_frame(engine::Link&, const engine::FrameHeader& header,
                     engine::Bytes payload) override {
    on_stream_frame(header, payload, {});
  }
  void on_link_going_away(engine::Link&) override;
  void on_link_down(engine::Link&, bool was_up, const std::string& reason) override;
  void defer_delete(std::unique_ptr<engine::Session> session) override;

  bool has_clients(const std::vector<size_t>& endpoints) const override;
  bool has_streams(uint32_t lane) const override;
  void on_lane_closing(uint32_t lane) override;
  void on_lane_lost(uint32_t lane, const std::string& reason) override;
  void on_lane_failed(const LaneKey& key) override;
  void on_lane_returned(uint32_t lane, uint64_t frame) override {
    borrowed_ranges_.returned(lane, frame);
  }
  engine::Landing on_lane_landing(uint32_t lane, const engine::FrameHeader& header,
                                  bool is_next) override;
  void on_lane_frame(const engine::FrameHeader& header, engine::Bytes payload,
                     FrameSource source) override {
    on_stream_frame(header, payload, source);
    landings_.handled(payload.data());
  }
  void on_lane_gone(uint32_t lane) override {
    borrowed_ranges_.lane_gone(lane);
    landings_.lane_gone(lane);
  }
  void on_domain_gone() override { registrations_.domain_gone(); }

  void change_to(State next);
  void begin_to_leave();
  void agree_to_go_away();
  void reset(uint32_t stream);
  void note_use_of_streams();
  template <class Which>
  void end_idle_streams(engine::FrameKind last, Which which);
  void on_idle_stream_frame(StreamEntry& stream, const engine::FrameHeader& header, uint32_t lane);

  Worker& worker_;
  engine::RdmaHost* const rdma_;
  State state_ = State::kCurrent;
  Fallback without_lanes_;  // why calls use TCP while lanes_ is null
  // The cores of the peer's host; those of this host if the peer's link version does not have them.
  engine::CoreCounts peer_cores_;
  std::unordered_map<uint32_t, ClientConnection*> streams_;  // null: the stream is idle
  std::vector<IdleStream> idle_;                             // the last one was used last
  size_t unanswered_ = 0;                                    // calls of all streams
  uint64_t calls_ = 0;
  TimePoint up_since_{};
  uint32_t weight_ = 1;
  bool is_near_ = false;
  TimePoint last_use_;
  // The last frames of ended streams that were sent on RDMA lanes and may not have arrived yet.
  std::vector<LastFrame> last_frames_;
  // Shared with the links that this one has replaced, whose calls in flight refer to them.
  std::shared_ptr<PeerPlans> plans_;
  Registrations registrations_;
  BorrowedRanges borrowed_ranges_;
  Landings landings_;
  engine::Link link_;
  std::unique_ptr<PeerLanes> lanes_;  // `lanes_` and `costs_` are destroyed before the session
  std::unique_ptr<engine::CalibrationSession> costs_;
};

}  // namespace hat
