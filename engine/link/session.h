// SPDX-License-Identifier: Apache-2.0
// engine/link/session.h: one connection of a link, from its hello to its end.
//
//   initiator: kHello ──▶            ◀── kHello | kRefuse          then frames both ways
//
// Each side pings when it has received nothing for `keepalive_interval`, and ends the session when
// it has received nothing for `keepalive_timeout`: a host whose kernel has died sends not even a
// reset.
//
// Thread   the reactor's.
// Errors   on_session_down() once, with a sentence; no event follows it.
#pragma once

#include <memory>
#include <string>

#include "base/reactor.h"
#include "engine/lane.h"
#include "engine/link/hello.h"
#include "engine/link/seal.h"
#include "engine/link/tcp_lane.h"

namespace hat::engine {

class Session;

// Called by a session. A callback must not destroy the session; it defers the deletion.
class SessionEvents {
 public:
  virtual ~SessionEvents() = default;
  // Reports to an acceptor that the initiator's hello has arrived, and peer() is known. An error is
  // sent to the peer and ends the session.
  virtual Result<void> on_hello(Session& session) = 0;
  virtual void on_session_up(Session& session) = 0;  // peer() is known; both hellos are exchanged
  virtual void on_frame(Session& session, const FrameHeader& header, Bytes payload) = 0;
  virtual void on_uncongested(Session& session) = 0;
  virtual void on_session_down(Session& session, const std::string& reason) = 0;
};

// Receives a session's frames about RDMA lanes (engine/link/lane_set.h).
class LaneFrames {
 public:
  virtual ~LaneFrames() = default;
  virtual void on_lane_frame(const FrameHeader& header, Bytes payload) = 0;
};

// Receives a session's frames about component costs (engine/link/calibration_session.h).
class CostFrames {
 public:
  virtual ~CostFrames() = default;
  virtual void on_cost_frame(const FrameHeader& header, Bytes payload) = 0;
};

struct SessionOptions {
  std::string node;  // this node's name
  std::string peer;  // initiator: the name of the node that it wants to reach; acceptor: empty
  uint64_t generation = 0;
  uint32_t legs = 0;     // Hello::legs
  Seal* seal = nullptr;  // must outlive the session; null: frames are sent in clear text
  Duration handshake_timeout{};
  Duration keepalive_interval{};
  Duration keepalive_timeout{};
};

class Session final : public LaneEvents {
 public:
  enum class Role : uint8_t { kInitiator, kAcceptor };

  Session(Reactor& reactor, Role role, SessionOptions options, const OpenStream& open,
          SessionEvents& events);

  bool up() const { return state_ == State::kUp; }
  const Hello& peer() const { return peer_; }  // once up
  // Returns the names that the peer has proved to have. The name in its hello is not proved.
  std::span<const std::string> peer_names() const { return lane_->peer_names(); }
  // Sets the receiver of frames about RDMA lanes. Without one, this side refuses lanes.
  void set_lanes(LaneFrames* lanes) { lanes_ = lanes; }
  // Sets the receiver of frames about component costs. Without one, this side refuses calibration.
  void set_costs(CostFrames* costs) { costs_ = costs; }
  Lane& lane() { return *lane_; }
  const Lane& lane() const { return *lane_; }
  TimePoint began() const { return began_; }
  void end(const std::string& reason) { go_down(reason); }
  // Ends this side's direction; call it if the lane is idle and stays so. The peer reads the end
  // after everything that was sent, and then ends the session. If this side closed the connection
  // instead, a reset might destroy the last replies on their way to the peer.
  void finish() { lane_->end_writes(); }

 private:
  enum class State : uint8_t { kHandshake, kUp, kDown };

  void on_frame(const FrameHeader& header, Bytes payload) override;
  void on_uncongested() override;
  void on_down(const std::string& reason) override;

  void on_lane_frame(const FrameHeader& header, Bytes payload);
  void on_cost_frame(const FrameHeader& header, Bytes payload);
  void take_first_frame(const FrameHeader& header, Bytes payload);
  void say_hello();
  void refuse(const std::string& reason);
  void go_down(const std::string& reason);
  void check_alive();

  Reactor& reactor_;
  const Role role_;
  const SessionOptions options_;
  SessionEvents& events_;
  State state_ = State::kHandshake;
  Hello peer_;
  TimePoint began_;
  LaneFrames* lanes_ = nullptr;
  CostFrames* costs_ = nullptr;
  std::unique_ptr<Timer> timer_;
  std::unique_ptr<TcpLane> lane_;
};

}  // namespace hat::engine
