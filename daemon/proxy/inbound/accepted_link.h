// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/inbound/accepted_link.h: a link that a peer opened: its session, the RDMA lanes
// beside it, and the streams on them.
//
// The link handles the events of its session and of its lanes itself. When the session ends, the
// link leaves the worker, which deletes it at the end of the iteration.
//
// Thread   the worker's.
#pragma once

#include <deque>
#include <memory>
#include <unordered_map>

#include "daemon/proxy/inbound/peer_share.h"
#include "daemon/proxy/inbound/server_stream.h"
#include "engine/link/calibration_session.h"
#include "engine/link/lane_set.h"

namespace hat {

class AcceptedLink final : private engine::SessionEvents,
                           private engine::LaneSetEvents,
                           private engine::CostAnswerer {
 public:
  // Begins the handshake with the peer that has connected.
  AcceptedLink(Worker& worker, engine::SessionOptions options, const engine::OpenStream& open);
  ~AcceptedLink() override;

  // Returns the peer's share of the limits, in which the link counts. Null before the peer's hello.
  const std::shared_ptr<PeerShare>& share() const { return share_; }
  const engine::Hello& peer() const { return session_->peer(); }  // once it is up
  // Returns the names that the peer has proved to have.
  std::span<const std::string> peer_names() const { return session_->peer_names(); }
  bool is_up() const { return session_->up(); }
  TimePoint began() const { return session_->began(); }
  // Ends the link at once.
  void end(const std::string& reason) { session_->end(reason); }

  // Returns the RDMA lane with that number, or the session's own lane if `number` is 0 or the RDMA
  // lane is gone. If a stream has ended with its lane, the peer ignores its frames.
  InboundLane lane(uint32_t number) {
    engine::RdmaLane* rdma = number == 0 || !lanes_ ? nullptr : lanes_->lane(number);
    if (rdma == nullptr) return {&session_->lane(), nullptr, 0};
    return {rdma, rdma, number};
  }
  // Returns the fabric of the RDMA lanes.
  const std::shared_ptr<engine::Fabric>& fabric() const { return lanes_->fabric(); }
  // Returns the ranges of servers' rings that the RDMA lanes have borrowed.
  BorrowedRanges& borrowed_ranges() { return borrowed_ranges_; }
  // Returns which limit is reached: limits.max_buffered, or the peer's part of it.
  std::string over_limit_text() const;
  // Handles new routes, whose `allow` rules may have changed.
  void on_new_routes();
  // Removes a stream; the worker deletes it at the end of the iteration.
  void end_stream(uint32_t id);
  void begin_drain();
  bool drained();
  // Returns true if the peer opens no more streams here.
  bool peer_turned() const { return agreed_to_go_away_ || !session_->up(); }
  // Returns true after leave(): this side leaves in favour of its successor.
  bool leaves() const { return departure_ != Departure::kNone; }
  // Acts as begin_drain() once the session is up. Then the link ends when nothing is left on it, so
  // that the peer need not wait for this process to end.
  void leave();
  void flush();

 private:
  // How this side leaves in favour of its successor: kNone ──▶ kBegun ──▶ kFinished.
  enum class Departure : uint8_t {
    kNone,
    kBegun,     // the link ends when nothing is left on it
    kFinished,  // nothing was left, and this side sends no more
  };

  Result<void> on_hello(engine::Session&) override;
  void on_session_up(engine::Session&) override;
  void on_frame(engine::Session&, const engine::FrameHeader& header,
                engine::Bytes payload) override {
    take(0, header, payload);
  }
  void on_uncongested(engine::Session&) override { on_uncongested(0); }
  void on_session_down(engine::Session&, const std::string& reason) override;

  // Returns the names that the peer's certificate proves, or the name in its hello if it proves
  // none.
  std::string identity() const;
  void log(const std::string& what);
  // Lets the peer open RDMA lanes and calibrate.
  void offer_lanes(engine::RdmaHost& host, engine::CostAnswerer* answerer);
  // Handles a frame that arrived on that lane; 0 is the session itself.
  void take(uint32_t lane, const engine::FrameHeader& header, engine::Bytes payload);
  void on_uncongested(uint32_t lane);
  // Opens a stream. `token` names the connection to the server with which it begins; null: none.
  void open_stream(uint32_t lane, const engine::FrameHeader& header, engine::Bytes payload,
                   const engine::ConnectionToken* token);
  void attach_stream(uint32_t lane, const engine::FrameHeader& header, engine::Bytes payload);

  Result<std::shared_ptr<engine::CalibrationJob>> answer(const engine::CostOpen& open) override;

  Result<engine::LaneShape> on_lane_wanted(const engine::LaneWish& wish) override;
  void on_lane_up(engine::LaneSet&, uint32_t) override {}
  void on_lane_message(engine::LaneSet& lanes, uint32_t lane, const engine::FrameHeader& header,
                       engine::Bytes payload) override;
  void on_lane_uncongested(engine::LaneSet& lanes, uint32_t lane) override;
  void on_lane_returned(engine::LaneSet&, uint32_t lane, uint64_t frame) override {
    borrowed_ranges_.returned(lane, frame);
  }
  void on_lane_gone(engine::LaneSet&, uint32_t lane) override { borrowed_ranges_.lane_gone(lane); }
  void on_lane_down(engine::LaneSet& lanes, uint32_t lane, bool was_up,
                    const std::string& reason) override;

  Worker& worker_;
  std::unique_ptr<engine::Session> session_;
  std::unordered_map<uint32_t, std::unique_ptr<ServerStream>> streams_;
  BorrowedRanges borrowed_ranges_;
  std::shared_ptr<PeerShare> share_;
  Departure departure_ = Departure::kNone;
  bool agreed_to_go_away_ = false;            // the peer opens no more streams here
  std::deque<uint32_t> lost_;                 // the newest streams that ended with their lane
  std::unique_ptr<engine::LaneSet> lanes_;    // destroyed before its session
  engine::CostAnswerer* answerer_ = nullptr;  // the node's; may be null
  std::unique_ptr<engine::CalibrationSession> costs_;
};

}  // namespace hat
