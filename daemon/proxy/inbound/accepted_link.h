// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/inbound/accepted_link.h: a link that a peer opened: the link's session, its RDMA
// lanes, and its streams.
//
// The worker owns the AcceptedLink, and deletes it at the end of the iteration in which the session
// ends.
//
// Thread   the worker's.
#pragma once

#include <deque>
#include <memory>
#include <unordered_map>

#include "daemon/proxy/inbound/opened_streams.h"
#include "daemon/proxy/inbound/peer_share.h"
#include "daemon/proxy/inbound/server_stream.h"
#include "engine/link/calibration_session.h"
#include "engine/link/lane_set.h"

namespace hat {

class AcceptedLink final : private engine::SessionEvents,
                           private engine::LaneSetEvents,
                           private engine::CostAnswerer {
 public:
  // Begins the handshake with a peer that has connected.
  AcceptedLink(Worker& worker, engine::SessionOptions options, const engine::OpenStream& open);
  ~AcceptedLink() override;

  // Returns how much of the worker's limits the peer uses. Returns null before the peer's hello.
  const std::shared_ptr<PeerShare>& share() const { return share_; }
  // Returns the peer's hello; call it only after the hello has arrived.
  const engine::Hello& peer() const { return session_->peer(); }
  // Returns the names in the peer's certificate; none without TLS.
  std::span<const std::string> peer_names() const { return session_->peer_names(); }
  bool is_up() const { return session_->up(); }
  TimePoint began() const { return session_->began(); }
  // Ends the link at once.
  void end(const std::string& reason) { session_->end(reason); }

  // Returns the RDMA lane with this number, or the TCP lane if `number` is 0 or the RDMA lane is
  // gone. Frames of a stream whose RDMA lane is gone then use TCP; the peer ignores these frames.
  InboundLane lane(uint32_t number) {
    engine::RdmaLane* rdma = number == 0 || !lanes_ ? nullptr : lanes_->lane(number);
    if (rdma == nullptr) return {&session_->lane(), nullptr, 0};
    return {rdma, rdma, number};
  }
  // Returns the memory of local servers' rings that the RDMA lanes use. May be called only while
  // the link has an RDMA lane.
  LinkMemory link_memory() { return {lanes_->fabric(), registrations_}; }
  // Returns the ranges of local servers' rings that the link's RDMA lanes have borrowed.
  BorrowedRanges& borrowed_ranges() { return borrowed_ranges_; }
  // Returns a text that says which limit is reached: limits.max_buffered, or the peer's quarter of
  // this limit.
  std::string over_limit_text() const;
  // Handles new routes, whose `allow` rules may have changed.
  void on_new_routes();
  // Removes a stream; the worker deletes it at the end of the iteration.
  void end_stream(uint32_t id);
  // Asks the peer (frame kGoAway) to begin no more calls on this link.
  void begin_drain();
  // Returns true if the peer opens no more streams on this link, no stream has a call in flight or
  // a connection that can move to another stream, and all frames were sent.
  bool drained();
  // Returns true if the peer opens no more streams on this link.
  bool peer_turned() const { return agreed_to_go_away_ || !session_->up(); }
  // Returns true if leave() was called.
  bool leaves() const { return departure_ != Departure::kNone; }
  // Begins to end the link because this process has a successor: calls begin_drain() once the
  // session is up, and ends the session once drained() returns true and no stream must stay
  // (ServerStream::stays()).
  void leave();
  // Sends the frames of this iteration.
  void flush();

 private:
  // The progress of leave(): kNone ──▶ kBegun ──▶ kFinished.
  enum class Departure : uint8_t {
    kNone,
    kBegun,     // leave() was called; calls or connections are left on the link
    kFinished,  // no calls and no connections were left, and this side sends no more
  };

  Result<void> on_hello(engine::Session&) override;
  void on_session_up(engine::Session&) override;
  void on_frame(engine::Session&, const engine::FrameHeader& header,
                engine::Bytes payload) override {
    take(0, header, payload);
  }
  void on_session_down(engine::Session&, const std::string& reason) override;

  // Returns the names in the peer's certificate, or the node name in the peer's hello if there is
  // no certificate.
  std::string identity() const;
  void log(const std::string& what);
  // Allows the peer to open RDMA lanes and calibration sessions.
  void offer_lanes(engine::RdmaHost& host, engine::CostAnswerer* answerer);
  // Handles a frame that arrived on the lane with the number `lane`; 0 is the TCP connection.
  void take(uint32_t lane, const engine::FrameHeader& header, engine::Bytes payload);
  // Opens a stream. `token` names the detached connection to the server with which the stream
  // begins; null: none.
  void open_stream(uint32_t lane, const engine::FrameHeader& header, engine::Bytes payload,
                   const engine::ConnectionToken* token);
  void attach_stream(uint32_t lane, const engine::FrameHeader& header, engine::Bytes payload);
  void resume_unknown(uint32_t stream, engine::Bytes payload);

  Result<std::shared_ptr<engine::CalibrationJob>> answer(const engine::CostOpen& open) override;

  Result<engine::LaneShape> on_lane_wanted(const engine::LaneWish& wish) override;
  void on_lane_refused(engine::LaneSet&, const std::string& reason) override;
  void on_lane_up(engine::LaneSet&, uint32_t) override {}
  void on_lane_message(engine::LaneSet& lanes, uint32_t lane, const engine::FrameHeader& header,
                       engine::Bytes payload, engine::Leg leg) override;
  void on_lane_returned(engine::LaneSet&, uint32_t lane, uint64_t frame) override {
    borrowed_ranges_.returned(lane, frame);
  }
  engine::Landing on_lane_landing(engine::LaneSet&, uint32_t lane,
                                  const engine::FrameHeader& header, bool is_next) override;
  void on_lane_gone(engine::LaneSet&, uint32_t lane) override {
    borrowed_ranges_.lane_gone(lane);
    landings_.lane_gone(lane);
  }
  std::shared_ptr<engine::RdmaBudget> budget_of_domain(engine::LaneSet&) override;
  void on_domain_gone(engine::LaneSet&) override { registrations_.domain_gone(); }
  void on_lane_down(engine::LaneSet& lanes, uint32_t lane, bool was_up,
                    const std::string& reason) override;

  Worker& worker_;
  std::unique_ptr<engine::Session> session_;
  std::unordered_map<uint32_t, std::unique_ptr<ServerStream>> streams_;
  Registrations registrations_;
  BorrowedRanges borrowed_ranges_;
  Landings landings_;
  std::shared_ptr<PeerShare> share_;
  Departure departure_ = Departure::kNone;
  bool agreed_to_go_away_ = false;  // the peer opens no more streams on this link
  std::deque<uint32_t> lost_;       // numbers of the last streams that lost their lane
  OpenedStreams opened_;
  std::unique_ptr<engine::LaneSet> lanes_;    // destroyed before its session
  engine::CostAnswerer* answerer_ = nullptr;  // the node's; may be null
  std::unique_ptr<engine::CalibrationSession> costs_;
};

}  // namespace hat
