// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/outbound/peer_lanes.h: the RDMA lanes of one link to a peer, on the side that calls;
// chooses the lane that carries a call, and gives the reason if none does.
//
// The first call that wants a lane requests it. While the lane is not up, calls use TCP. After a
// lane was refused or has failed, a call requests it again after a pause, which doubles from
// kRetryMin to kRetryMax. A lane that has failed carries calls again once it has been up for
// limits.lane_settle; until then it is not trusted.
//
// An idle lane is kept in two cases. It has not been up for limits.lane_settle yet; or an endpoint
// whose calls have requested it still has a client connection with a stream to the peer, so that a
// call after a long pause finds the lane. Any other idle lane is given back.
//
// Thread   the worker's.
// Errors   on_lane_lost(), with the reason as text.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/reactor.h"
#include "daemon/metrics/fallback.h"
#include "daemon/routing/lane_key.h"
#include "engine/link/lane_set.h"

namespace hat {

// The state of a lane, for hatctl.
struct LaneStatus {
  std::string protocol;  // "direct_write_imm", "direct_write_imm / rfp": requests / answers
  bool latency = false;  // the lane's class: latency or throughput
  std::string state;     // "up", or a Fallback's name
  std::string last_error;
  uint64_t failures = 0;
};

class PeerLanesEvents {
 public:
  virtual ~PeerLanesEvents() = default;
  virtual void on_stream_frame(const engine::FrameHeader& header, engine::Bytes payload) = 0;
  virtual void on_lane_uncongested(uint32_t lane) = 0;
  // Returns true if a client connection of one of these endpoints has a stream to the peer.
  virtual bool has_clients(const std::vector<size_t>& endpoints) const = 0;
  // Reports that the lane failed: the frames on their way may or may not have arrived.
  virtual void on_lane_lost(uint32_t lane, const std::string& reason) = 0;
  // Reports that a range which the lane had borrowed is its owner's again: the range of one frame,
  // or every range.
  virtual void on_lane_returned(uint32_t lane, uint64_t frame) = 0;
  virtual void on_lane_gone(uint32_t lane) = 0;
};

class PeerLanes final : private engine::LaneSetEvents {
 public:
  static constexpr Duration kRetryMin = std::chrono::milliseconds(100);
  static constexpr Duration kRetryMax = std::chrono::seconds(10);

  // Manages the lanes beside `session`, which is up and whose peer has RDMA lanes. All referenced
  // objects must outlive this one.
  PeerLanes(Reactor& reactor, engine::RdmaHost& host, engine::Session& session, Duration settle,
            PeerLanesEvents& events);

  struct Choice {
    uint32_t lane = 0;              // 0: TCP
    Fallback why{};                 // if TCP: the reason
    engine::ProtocolId protocol{};  // if RDMA: the protocol that carries the call
  };
  Choice choose(const LaneKey& key, size_t endpoint);
  // Returns a lane that choose() has returned and that has not been lost since.
  engine::Lane& lane(uint32_t number) { return rdma(number); }
  engine::RdmaLane& rdma(uint32_t number) { return *set_.lane(number); }
  // Returns the lanes' fabric.
  const std::shared_ptr<engine::Fabric>& fabric() const { return set_.fabric(); }
  // Returns null if the lane is gone.
  const engine::Lane* find(uint32_t number) { return set_.lane(number); }

  // Announces that the peer is leaving. Once no answer is due, such a peer ends its lanes by
  // destroying its queue pairs. A device may report this before the link's TCP connection ends; it
  // is then not counted as a failure.
  void expect_end() { end_expected_ = true; }
  void flush() { set_.flush(); }
  void end(const std::string& reason) { set_.end(reason); }
  bool all_taken() { return set_.all_taken(); }
  std::vector<LaneStatus> status();

 private:
  enum class State : uint8_t { kAbsent, kOpening, kUp };
  struct Entry {
    LaneKey key;                    // as calls want it
    std::vector<size_t> endpoints;  // endpoints whose calls have requested it
    std::optional<LaneKey> within;  // the lane that the peer's legs allow; none: no lane
    uint32_t number = 0;
    State state = State::kAbsent;
    Fallback why = Fallback::kOpening;  // if it is not up: the reason
    TimePoint since{};                  // when it came up
    TimePoint retry_at{};
    Duration pause = kRetryMin;
    bool distrusted = false;  // it has failed, and has not been up for limits.lane_settle since
    uint64_t failures = 0;    // how often it failed after it had been up
    std::string last_error;
  };

  bool is_orderly_end(uint32_t lane, bool was_up);
  bool trusts(Entry& entry) const;
  Entry& entry_of(const LaneKey& key);
  Entry* entry_with(uint32_t lane);

  Result<engine::LaneShape> on_lane_wanted(const engine::LaneWish& wish) override;
  void on_lane_up(engine::LaneSet& lanes, uint32_t lane) override;
  void on_lane_message(engine::LaneSet& lanes, uint32_t lane, const engine::FrameHeader& header,
                       engine::Bytes payload) override;
  void on_lane_uncongested(engine::LaneSet& lanes, uint32_t lane) override;
  void on_lane_returned(engine::LaneSet&, uint32_t lane, uint64_t frame) override {
    events_.on_lane_returned(lane, frame);
  }
  void on_lane_gone(engine::LaneSet&, uint32_t lane) override { events_.on_lane_gone(lane); }
  bool may_close(engine::LaneSet& lanes, uint32_t lane) override;
  void on_lane_down(engine::LaneSet& lanes, uint32_t lane, bool was_up,
                    const std::string& reason) override;

  Reactor& reactor_;
  const uint32_t legs_;  // the legs that both sides can perform
  const Duration settle_;
  bool end_expected_ = false;
  PeerLanesEvents& events_;
  std::vector<Entry> entries_;
  engine::LaneSet set_;
};

}  // namespace hat
