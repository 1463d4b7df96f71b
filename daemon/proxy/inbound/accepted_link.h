// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/inbound/accepted_link.h: a link that a peer opened: its session, the RDMA lanes
// beside it, and the streams on them.
//
// Thread   the worker's.
#pragma once

#include <deque>
#include <memory>
#include <unordered_map>

#include "daemon/proxy/inbound/peer_share.h"
#include "daemon/proxy/inbound/server_stream.h"
#include "engine/link/cost_talk.h"
#include "engine/link/lane_set.h"

namespace hat {

class AcceptedLink final : private engine::LaneSetEvents, private engine::CostAnswerer {
 public:
  explicit AcceptedLink(Worker& worker) : worker_(worker) {}
  ~AcceptedLink() override;

  // The peer is known, and has this share of the limits.
  void begin(std::shared_ptr<PeerShare> share);
  const std::shared_ptr<PeerShare>& share() const { return share_; }  // null before that

  // The peer's hello came, and says that it has RDMA lanes, as this node has.
  void offer_lanes(Reactor& reactor, engine::RdmaHost& host, engine::CostAnswerer* answerer);
  // A frame that came by that lane; 0: by the session itself.
  void take(uint32_t lane, const engine::FrameHeader& header, engine::Bytes payload);
  // Where a stream answers. What a stream that has ended with its lane says, nobody heeds.
  engine::Lane& lane(uint32_t number) {
    engine::Lane* rdma = rdma_lane(number);
    return rdma == nullptr ? session->lane() : *rdma;
  }
  // Null: it is the session itself, or gone.
  engine::RdmaLane* rdma_lane(uint32_t number) {
    return number == 0 || !lanes_ ? nullptr : lanes_->lane(number);
  }
  const std::shared_ptr<engine::Fabric>& fabric() const { return lanes_->fabric(); }  // of them
  void on_uncongested(uint32_t lane);
  void begin_drain();
  bool drained();
  // The peer opens no more streams here.
  bool peer_turned() const { return agreed_to_go_away_ || !session->up(); }
  // It said that it leaves because of a successor.
  bool leaves() const { return leaves_; }
  // As begin_drain(), once the peer has said who it is; then the link ends when nothing is left on
  // it, so that the peer need not wait for this process to end.
  void leave();
  void on_up() {
    if (leaves_) begin_drain();
  }
  void flush();
  void end(const std::string& reason);

  std::unique_ptr<engine::Session> session;
  std::unordered_map<uint32_t, std::unique_ptr<ServerStream>> streams;
  Loans loans;

 private:
  // `token`: of the connection to the server that the stream begins with; null: of none.
  void open_stream(uint32_t lane, const engine::FrameHeader& header, engine::Bytes payload,
                   const engine::ConnectionToken* token);
  void attach_stream(uint32_t lane, const engine::FrameHeader& header, engine::Bytes payload);

  Result<std::shared_ptr<engine::CostJob>> answer(const engine::CostOpen& open) override;

  Result<engine::LaneShape> on_lane_wanted(const engine::LaneWish& wish) override;
  void on_lane_up(engine::LaneSet&, uint32_t) override {}
  void on_lane_message(engine::LaneSet& lanes, uint32_t lane, const engine::FrameHeader& header,
                       engine::Bytes payload) override;
  void on_lane_uncongested(engine::LaneSet& lanes, uint32_t lane) override;
  void on_lane_returned(engine::LaneSet&, uint32_t lane, uint64_t frame) override {
    loans.returned(lane, frame);
  }
  void on_lane_gone(engine::LaneSet&, uint32_t lane) override { loans.lane_gone(lane); }
  void on_lane_down(engine::LaneSet& lanes, uint32_t lane, bool was_up,
                    const std::string& reason) override;

  Worker& worker_;
  std::shared_ptr<PeerShare> share_;
  bool agreed_to_go_away_ = false;
  bool leaves_ = false;
  bool finished_ = false;
  std::deque<uint32_t> lost_;  // streams that ended with their lane, the latest of them
  std::unique_ptr<engine::LaneSet> lanes_;    // gone before its session
  engine::CostAnswerer* answerer_ = nullptr;  // the node's
  std::unique_ptr<engine::CostTalk> costs_;
};

}  // namespace hat
