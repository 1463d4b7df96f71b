// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/outbound/peer_link.h: a worker's way to one peer: the link, the RDMA lanes beside
// it, and the client connections that have a stream there.
//
// Thread   the worker's.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "daemon/proxy/loans.h"
#include "daemon/proxy/outbound/peer_lanes.h"
#include "engine/link/cost_talk.h"
#include "engine/link/link.h"

namespace hat {

class ClientConnection;

class PeerLink final : public PeerLanesEvents {
 public:
  // What a connection's frames go by: 0 is the link itself.
  engine::Lane& lane(uint32_t number) { return number == 0 ? link->lane() : lanes->lane(number); }
  PeerLanes::Choice choose(const LaneKey& key, size_t endpoint) {
    return lanes ? lanes->choose(key, endpoint) : PeerLanes::Choice{0, without_lanes, {}};
  }
  // A frame of a stream, by whichever lane.
  void on_stream_frame(const engine::FrameHeader& header, engine::Bytes payload) override;
  // A stream ends by this frame, which a lane that fails may not deliver: then it is told again.
  void end_stream(uint32_t stream, uint32_t lane, engine::FrameKind farewell);
  void flush();

  std::unique_ptr<engine::Link> link;
  std::unique_ptr<PeerLanes> lanes;  // null: here or there are none; belongs to the link's session
  std::unique_ptr<engine::CostTalk> costs;  // as the lanes
  std::unordered_map<uint32_t, ClientConnection*> streams;
  Loans loans;
  Fallback without_lanes = Fallback::kPeerHasNone;  // why there are none
  bool stirred = false;  // a lane's events made others send: what was flushed may have more
  bool leaves = false;   // the peer wants to leave, and has not been told that no more comes

 private:
  struct Farewell {
    uint32_t stream = 0;
    uint32_t lane = 0;
    uint64_t number = 0;  // of its frame
  };
  void on_lane_uncongested(uint32_t lane) override;
  bool has_clients(const std::vector<size_t>& endpoints) const override;
  void on_lane_lost(uint32_t lane, const std::string& reason) override;
  void on_lane_returned(uint32_t lane, uint64_t frame) override { loans.returned(lane, frame); }
  void on_lane_gone(uint32_t lane) override { loans.lane_gone(lane); }
  void reset(uint32_t stream);

  std::vector<Farewell> farewells_;  // by RDMA lanes, and not known to be delivered
};

}  // namespace hat
