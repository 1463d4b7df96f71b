// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/outbound/peer_lanes.h: the RDMA lanes of one link, on the side that calls. For each
// call, PeerLanes chooses the RDMA lane that carries the call, or gives the reason why the call
// uses TCP.
//
// PeerLanes opens a lane when the first call wants this lane. Calls use TCP while the lane is not
// up. If a lane was refused or has failed, the first call after a pause opens the lane again. The
// pause doubles with each failure, from kRetryMin to kRetryMax. A lane that failed after it had
// been up must be up again for limits.lane_settle before calls use this lane.
//
// A lane that no call uses is closed, unless one of these conditions holds:
//   · The lane failed, and is up again for less than limits.lane_settle.
//   · A stream is on the lane. The end of the lane would end the stream.
//   · An endpoint whose calls wanted the lane still has a client connection with a stream on the
//     link. The next call of this client connection then finds the lane open.
//
// Some lanes are wanted only by trials of `plan: learned`. At most kTrialLanesMost of them exist:
// prepare() closes one to make room for another, unless the lane is reserved: for kReserved after
// prepare(), or until its trial. If a lane that calls want is refused, the lanes for trials are
// closed, because they may take the memory that this lane needs.
//
// Thread   the worker's.
// Errors   PeerLanesEvents::on_lane_lost(), with the reason as text.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/reactor.h"
#include "daemon/metrics/call_ways.h"
#include "daemon/metrics/fallback.h"
#include "daemon/proxy/outbound/trial_lanes.h"
#include "daemon/routing/lane_key.h"
#include "engine/link/lane_set.h"

namespace hat {

// The state of a lane, for hatctl.
struct LaneStatus {
  // The protocol's name ("direct_write_imm"). If requests and replies use different protocols, the
  // two names ("direct_write_imm / rfp").
  std::string protocol;
  bool latency = false;  // true: the lane's class is latency; false: throughput
  std::string state;     // "up", or the reason (name of a Fallback) why calls use TCP
  std::string last_error;
  uint64_t failures = 0;  // how often the lane failed after it had been up
};

// How a frame came from the peer.
struct FrameSource {
  uint32_t lane = 0;  // the number of the RDMA lane; 0: the TCP connection of the link
  engine::Leg leg{};  // the leg that carried the frame, if `lane` is not 0
};

// Receives the events of all RDMA lanes of one link.
class PeerLanesEvents {
 public:
  virtual ~PeerLanesEvents() = default;
  // Handles a frame that has arrived on one of the lanes.
  virtual void on_lane_frame(const engine::FrameHeader& header, engine::Bytes payload,
                             FrameSource source) = 0;
  // Returns the memory for the payload of a frame that the lane is about to READ, or no memory
  // (engine::LaneEvents::landing_for()).
  virtual engine::Landing on_lane_landing(uint32_t lane, const engine::FrameHeader& header,
                                          bool is_next) = 0;
  // Returns true if a client connection of one of these endpoints has a stream on the link.
  virtual bool has_clients(const std::vector<size_t>& endpoints) const = 0;
  // Returns true if the peer may still use this lane for a client's stream, even if no call is in
  // flight: its end would end the stream too.
  virtual bool has_streams(uint32_t lane) const = 0;
  // Reports that the lane, for which has_streams() returns false, is about to be closed.
  virtual void on_lane_closing(uint32_t lane) = 0;
  // Reports that the lane is gone. Frames that were on their way may have arrived or not.
  virtual void on_lane_lost(uint32_t lane, const std::string& reason) = 0;
  // Reports, before on_lane_lost(), that an existing lane of this kind has failed, and not all
  // lanes of the link with it.
  virtual void on_lane_failed(const LaneKey& key) = 0;
  // Reports that the lane no longer uses the borrowed range of this frame.
  virtual void on_lane_returned(uint32_t lane, uint64_t frame) = 0;
  // Reports that the lane no longer uses any borrowed range or landing.
  virtual void on_lane_gone(uint32_t lane) = 0;
  // Reports that no lane is left, and that fabric() ends.
  virtual void on_domain_gone() = 0;
};

class PeerLanes final : private engine::LaneSetEvents {
 public:
  static constexpr Duration kRetryMin = std::chrono::milliseconds(100);
  static constexpr Duration kRetryMax = std::chrono::seconds(10);
  static constexpr size_t kTrialLanesMost = 4;
  static constexpr Duration kReserved = std::chrono::seconds(2);
  // How long no lane is opened for trials after lanes for trials were closed, because a lane that
  // calls want was refused.
  static constexpr Duration kTrialPause = std::chrono::seconds(10);

  // Manages the RDMA lanes of `session`, which must be up and whose peer must have RDMA. `settle`
  // is limits.lane_settle. All arguments passed by reference must outlive this object.
  PeerLanes(Reactor& reactor, engine::RdmaHost& host, engine::Session& session, Duration settle,
            PeerLanesEvents& events);

  // The lane that choose() found for a call.
  struct Choice {
    uint32_t lane = 0;  // 0: TCP
    Fallback why{};     // the reason, if `lane` is 0
    // The lane's protocols for requests and for replies, if `lane` is not 0.
    engine::ProtocolId request{};
    engine::ProtocolId response{};
    bool exact = true;  // these are the protocols of the key, and no replacements
  };
  // Returns the lane for a call that wants a lane of kind `key`, from a client of this endpoint.
  // Begins to open the lane if the lane does not exist and no pause after a failure is running.
  Choice choose(const LaneKey& key, size_t endpoint);
  // Returns the lane for a call of a trial, which prepare() has found to be up. Opens no lane.
  Choice choose_for_trial(const LaneKey& key);
  // Prepares a trial with lanes of these kinds: opens those that do not exist. `exact` is true if
  // only the protocols of the keys will do, and no replacement for a leg that the peer does not
  // have.
  TrialLanes::Readiness prepare(std::span<const LaneKey> keys, bool exact);
  // Forgets which endpoints have wanted the lane: calls no longer want it.
  void release(const LaneKey& key);
  // Returns what choose() would return for a lane of kind `key`, but opens no lane.
  struct Outlook {
    Choice choice;
    bool exists = false;     // false: choose() would open the lane
    std::string last_error;  // of the lane
  };
  Outlook outlook(const LaneKey& key) const;
  // Returns the protocols of the lane with this number, as LaneStatus::protocol; empty if the lane
  // is gone.
  std::string protocols_of(uint32_t lane) const;
  // Returns the legs that both sides can perform.
  uint32_t legs() const { return legs_; }
  // Returns the lane with this number. choose() must have returned the number, and the lane must
  // still exist: on_lane_lost() was not called for it.
  engine::Lane& lane(uint32_t number) { return rdma(number); }
  engine::RdmaLane& rdma(uint32_t number) { return *set_.lane(number); }
  // Returns the lanes' fabric.
  const std::shared_ptr<engine::Fabric>& fabric() const { return set_.fabric(); }
  // Returns the lane with this number, or null if the lane is gone.
  const engine::Lane* find(uint32_t number) { return set_.lane(number); }

  // Records that the peer is shutting down. From now on, the end of a lane on which no reply is due
  // does not count as a failure: the peer destroys its queue pairs, and the RDMA device can report
  // this before the link's TCP connection ends.
  void expect_end() { end_expected_ = true; }
  // Sends the queued frames of all lanes.
  void flush() { set_.flush(); }
  // Ends all lanes.
  void end(const std::string& reason);
  // Returns true if the peer has taken all frames that were sent on the lanes.
  bool all_taken() { return set_.all_taken(); }
  std::vector<LaneStatus> status();

 private:
  enum class State : uint8_t { kAbsent, kOpening, kUp };
  // One kind of lane that calls have wanted.
  struct Entry {
    LaneKey key;                    // the kind of lane that the calls' plan names
    std::vector<size_t> endpoints;  // the endpoints whose calls wanted the lane
    // `key`, with a replacement for each protocol that needs a leg outside legs_; none if no
    // protocol is possible.
    std::optional<LaneKey> within;
    uint32_t number = 0;
    State state = State::kAbsent;
    Fallback why = Fallback::kOpening;  // why calls use TCP while the lane is not up
    TimePoint since{};                  // when the lane came up
    TimePoint retry_at{};               // when a call can open the lane again after a failure
    Duration pause = kRetryMin;         // the pause after the next failure
    bool distrusted = false;  // the lane failed, and is not up again for limits.lane_settle yet
    uint64_t failures = 0;    // how often the lane failed after it had been up
    std::string last_error;
    TimePoint reserved_until{};  // for a trial
    bool made_room = false;      // since it was last up, its refusal has closed lanes for trials
  };

  bool is_orderly_end(uint32_t lane, bool was_up);
  bool trusts(Entry& entry) const;
  Entry& entry_of(const LaneKey& key);
  Entry* find_entry(const LaneKey& key);
  Choice up_choice(Entry& entry) const;
  void open(Entry& entry);
  static bool is_for_trials(const Entry& entry) { return entry.endpoints.empty(); }
  bool can_close(const Entry& entry);
  bool close_one_trial_lane(std::span<const LaneKey> except);
  bool make_room(std::span<const LaneKey> keys);
  bool close_trial_lanes();
  Entry* entry_with(uint32_t lane);

  Result<engine::LaneShape> on_lane_wanted(const engine::LaneWish& wish) override;
  void on_lane_up(engine::LaneSet& lanes, uint32_t lane) override;
  void on_lane_message(engine::LaneSet& lanes, uint32_t lane, const engine::FrameHeader& header,
                       engine::Bytes payload, engine::Leg leg) override;
  void on_lane_returned(engine::LaneSet&, uint32_t lane, uint64_t frame) override {
    events_.on_lane_returned(lane, frame);
  }
  engine::Landing on_lane_landing(engine::LaneSet&, uint32_t lane,
                                  const engine::FrameHeader& header, bool is_next) override {
    return events_.on_lane_landing(lane, header, is_next);
  }
  void on_lane_gone(engine::LaneSet&, uint32_t lane) override { events_.on_lane_gone(lane); }
  void on_domain_gone(engine::LaneSet&) override { events_.on_domain_gone(); }
  bool may_close(engine::LaneSet& lanes, uint32_t lane) override;
  void on_lane_down(engine::LaneSet& lanes, uint32_t lane, bool was_up,
                    const std::string& reason) override;

  Reactor& reactor_;
  const uint32_t legs_;  // the legs that both sides can perform
  const Duration settle_;
  bool end_expected_ = false;
  bool ends_ = false;        // end() was called
  TimePoint trials_from_{};  // until then no lane is opened for trials
  PeerLanesEvents& events_;
  std::vector<Entry> entries_;
  engine::LaneSet set_;
};

// Returns the carrier of a piece of the reply to a call that uses the lane of `choice`. A peer that
// keeps the rules replies on this lane. Returns kNone if the piece came on another RDMA lane,
// because `choice` does not name that lane's protocol.
constexpr Carrier carrier_of_reply(const PeerLanes::Choice& choice, FrameSource source) {
  if (source.lane == 0) return Carrier::kTcp;
  if (source.lane != choice.lane) return Carrier::kNone;
  return carrier_by(source.leg, choice.response, engine::protocol(choice.response).response);
}

}  // namespace hat
