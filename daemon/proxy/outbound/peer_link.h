// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/outbound/peer_link.h: a worker's link to one peer, the RDMA lanes beside it, and the
// client connections that have a stream there. It handles the events of its link and its lanes.
//
//   kCurrent ──▶ kLeaving ──▶ kAgreed
//       └────────────────────────▲
// kCurrent ends when the peer announces by kGoAway that it shuts down. This side answers with a
// kGoAway, which leads to kAgreed: at once if it has no RDMA lanes, otherwise when everything on
// them has arrived (kLeaving). In kLeaving and kAgreed a new PeerLink to the same peer exists
// beside the old one, and gets all new streams. The old PeerLink carries only the streams that it
// has, and the worker deletes it when its link ends.
//
// Thread   the worker's.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "config/node.h"
#include "daemon/proxy/outbound/peer_lanes.h"
#include "daemon/proxy/zero_copy.h"
#include "engine/link/calibration_session.h"
#include "engine/link/link.h"

namespace hat {

class ClientConnection;
class Worker;

class PeerLink final : public engine::LinkEvents, public PeerLanesEvents {
 public:
  // Makes the link, which does not connect yet. `rdma` is null if this host has no fabric; `seed`
  // is for the jitter of reconnecting.
  PeerLink(Worker& worker, const PeerConfig& peer, engine::SessionOptions options,
           engine::RdmaHost* rdma, uint32_t seed);
  ~PeerLink() override;

  engine::Link& link() { return link_; }
  const engine::Link& link() const { return link_; }
  // Returns the RDMA lanes of the link's session; null if one side has none.
  PeerLanes* lanes() const { return lanes_.get(); }
  // Returns the calibration session, which exists while lanes() does.
  engine::CalibrationSession* costs() const { return costs_.get(); }
  BorrowedRanges& borrowed_ranges() { return borrowed_ranges_; }

  PeerLanes::Choice choose(const LaneKey& key, size_t endpoint) {
    return lanes_ ? lanes_->choose(key, endpoint) : PeerLanes::Choice{0, without_lanes_, {}};
  }

  // Begins a stream of `connection` on the link, which takes calls, and returns its number.
  uint32_t open_stream(ClientConnection& connection);
  // Ends a stream with the frame `last`. If the lane fails before it has delivered the frame, the
  // link itself carries a kReset for the stream.
  void end_stream(uint32_t stream, uint32_t lane, engine::FrameKind last);
  // Passes the stream's frames to nobody any more. Does nothing if the stream has ended already.
  void forget_stream(uint32_t stream) { streams_.erase(stream); }
  // Returns the connections that have a stream here.
  std::vector<ClientConnection*> connections() const;

  // Sends the frames of this event-loop iteration.
  void flush();
  // Returns true if events of the link have made connections send since the last call, so that
  // lanes which were flushed already may have frames.
  bool take_stirred() { return std::exchange(stirred_, false); }
  // Returns true if everything that was sent has left this process.
  bool all_sent() const;

  // --- For its lanes ---
  void on_stream_frame(const engine::FrameHeader& header, engine::Bytes payload) override;

 private:
  enum class State : uint8_t {
    kCurrent,
    kLeaving,  // this side agrees with a kGoAway once everything on the lanes has arrived
    kAgreed,
  };
  struct LastFrame {
    uint32_t stream = 0;
    uint32_t lane = 0;
    uint64_t number = 0;  // of the frame, for Lane::fate()
  };

  void on_link_up(engine::Link&) override;
  void on_link_frame(engine::Link&, const engine::FrameHeader& header,
                     engine::Bytes payload) override {
    on_stream_frame(header, payload);
  }
  void on_link_uncongested(engine::Link&) override { on_lane_uncongested(0); }
  void on_link_going_away(engine::Link&) override;
  void on_link_down(engine::Link&, bool was_up, const std::string& reason) override;
  void defer_delete(std::unique_ptr<engine::Session> session) override;

  void on_lane_uncongested(uint32_t lane) override;
  bool has_clients(const std::vector<size_t>& endpoints) const override;
  void on_lane_lost(uint32_t lane, const std::string& reason) override;
  void on_lane_returned(uint32_t lane, uint64_t frame) override {
    borrowed_ranges_.returned(lane, frame);
  }
  void on_lane_gone(uint32_t lane) override { borrowed_ranges_.lane_gone(lane); }

  void change_to(State next);
  void agree_to_go_away();
  void reset(uint32_t stream);

  Worker& worker_;
  engine::RdmaHost* const rdma_;
  State state_ = State::kCurrent;
  bool stirred_ = false;
  Fallback without_lanes_;  // the reason if lanes_ is null
  std::unordered_map<uint32_t, ClientConnection*> streams_;
  std::vector<LastFrame> last_frames_;  // sent on RDMA lanes, and not known to be delivered
  BorrowedRanges borrowed_ranges_;
  engine::Link link_;
  std::unique_ptr<PeerLanes> lanes_;  // destroyed before the session, as `costs_`
  std::unique_ptr<engine::CalibrationSession> costs_;
};

}  // namespace hat
