// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/outbound/peer_link.h: a worker's link to one peer, the RDMA lanes beside it, and the
// client connections that have a stream there.
//
// Thread   the worker's.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "daemon/proxy/outbound/peer_lanes.h"
#include "daemon/proxy/zero_copy.h"
#include "engine/link/calibration_session.h"
#include "engine/link/link.h"

namespace hat {

class ClientConnection;

class PeerLink final : public PeerLanesEvents {
 public:
  // Returns the lane that carries a connection's frames; 0 is the link itself.
  engine::Lane& lane(uint32_t number) { return number == 0 ? link->lane() : lanes->lane(number); }
  PeerLanes::Choice choose(const LaneKey& key, size_t endpoint) {
    return lanes ? lanes->choose(key, endpoint) : PeerLanes::Choice{0, without_lanes, {}};
  }
  // Passes on a frame of a stream, whichever lane it arrived on.
  void on_stream_frame(const engine::FrameHeader& header, engine::Bytes payload) override;
  // Ends a stream with the frame `farewell`. If the lane fails before it has delivered the frame,
  // the link itself carries a kReset for the stream.
  void end_stream(uint32_t stream, uint32_t lane, engine::FrameKind farewell);
  void flush();

  std::unique_ptr<engine::Link> link;
  std::unique_ptr<PeerLanes> lanes;  // null if one side has none; of the link's session
  std::unique_ptr<engine::CalibrationSession> costs;  // exists while `lanes` does
  std::unordered_map<uint32_t, ClientConnection*> streams;
  BorrowedRanges borrowed_ranges;
  Fallback without_lanes = Fallback::kPeerHasNone;  // the reason if `lanes` is null
  // A lane's events have made connections send, so lanes that were flushed already may have frames.
  bool stirred = false;
  bool leaves = false;  // the peer is leaving, and this side has not answered its kGoAway yet

 private:
  struct Farewell {
    uint32_t stream = 0;
    uint32_t lane = 0;
    uint64_t number = 0;  // of the frame, for Lane::fate()
  };
  void on_lane_uncongested(uint32_t lane) override;
  bool has_clients(const std::vector<size_t>& endpoints) const override;
  void on_lane_lost(uint32_t lane, const std::string& reason) override;
  void on_lane_returned(uint32_t lane, uint64_t frame) override {
    borrowed_ranges.returned(lane, frame);
  }
  void on_lane_gone(uint32_t lane) override { borrowed_ranges.lane_gone(lane); }
  void reset(uint32_t stream);

  std::vector<Farewell> farewells_;  // sent on RDMA lanes, and not known to be delivered
};

}  // namespace hat
