// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/outbound/peer_lanes.h: the RDMA lanes of one link to a peer, on the side that calls:
// which of them carries a call now, and if none does, why.
//
// A lane is asked for by the first call that wants it; until it is up, and whenever it is not,
// calls go over TCP. One that was refused or has failed is asked for again by a call after a pause,
// which doubles from kRetryMin to kRetryMax; one that has failed is trusted again, and carries
// calls, once it has been up for limits.lane_settle.
//
// A lane stays while a client of an endpoint that has asked for it is connected, so that a call
// after a long pause finds it; and until it is trusted. Else an idle one is given back.
//
// Thread   the worker's.
// Errors   on_lane_lost(), in words.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/reactor.h"
#include "daemon/metrics/fallback.h"
#include "daemon/routing/lane_key.h"
#include "engine/link/lane_set.h"

namespace hat {

// How a lane does, for hatctl.
struct LaneStatus {
  std::string protocol;  // "direct_write_imm", "direct_write_imm / rfp": requests / answers
  bool latency = false;  // its class
  std::string state;     // "up", or a Fallback's name
  std::string last_error;
  uint64_t failures = 0;
};

class PeerLanesEvents {
 public:
  virtual ~PeerLanesEvents() = default;
  virtual void on_stream_frame(const engine::FrameHeader& header, engine::Bytes payload) = 0;
  virtual void on_lane_uncongested(uint32_t lane) = 0;
  // Some client connection of one of these endpoints has a stream to the peer.
  virtual bool has_clients(const std::vector<size_t>& endpoints) const = 0;
  // What was on its way there is lost, or may have come.
  virtual void on_lane_lost(uint32_t lane, const std::string& reason) = 0;
  // What was lent for the frame is its owner's again; all that was lent to the lane is.
  virtual void on_lane_returned(uint32_t lane, uint64_t frame) = 0;
  virtual void on_lane_gone(uint32_t lane) = 0;
};

class PeerLanes final : private engine::LaneSetEvents {
 public:
  static constexpr Duration kRetryMin = std::chrono::milliseconds(100);
  static constexpr Duration kRetryMax = std::chrono::seconds(10);

  // All outlive it. `session` is up, and its peer has RDMA lanes.
  PeerLanes(Reactor& reactor, engine::RdmaHost& host, engine::Session& session, Duration settle,
            PeerLanesEvents& events);

  struct Choice {
    uint32_t lane = 0;              // 0: TCP
    Fallback why{};                 // then
    engine::ProtocolId protocol{};  // else: what carries calls there
  };
  Choice choose(const LaneKey& key, size_t endpoint);
  engine::Lane& lane(uint32_t number) { return rdma(number); }  // chosen, and not lost since
  engine::RdmaLane& rdma(uint32_t number) { return *set_.lane(number); }
  const std::shared_ptr<engine::Fabric>& fabric() const { return set_.fabric(); }  // of the lanes
  const engine::Lane* find(uint32_t number) { return set_.lane(number); }  // null: it is gone

  // The peer has said that it leaves: it ends its lanes once no answer is due, by taking its end of
  // them away. A device may report that before the link's TCP connection ends.
  void expect_end() { end_expected_ = true; }
  void flush() { set_.flush(); }
  void end(const std::string& reason) { set_.end(reason); }
  bool all_taken() { return set_.all_taken(); }
  std::vector<LaneStatus> status();

 private:
  enum class State : uint8_t { kAbsent, kOpening, kUp };
  struct Entry {
    LaneKey key;                    // as calls name it
    std::vector<size_t> endpoints;  // whose calls have asked for it
    std::optional<LaneKey> within;  // as the peer can do it; none: it cannot
    uint32_t number = 0;
    State state = State::kAbsent;
    Fallback why = Fallback::kOpening;  // while it is absent
    TimePoint since{};                  // that it is up
    TimePoint retry_at{};
    Duration pause = kRetryMin;
    bool distrusted = false;  // it has failed, and was not up for long enough since
    uint64_t failures = 0;    // after it had been up
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
  const uint32_t legs_;  // the peer's
  const Duration settle_;
  bool end_expected_ = false;
  PeerLanesEvents& events_;
  std::vector<Entry> entries_;
  engine::LaneSet set_;
};

}  // namespace hat
