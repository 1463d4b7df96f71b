// SPDX-License-Identifier: Apache-2.0
// engine/link/session.h: one connection of a link, from its hello to its end.
//
//   initiator: kHello ──▶            ◀── kHello | kRefuse          then frames both ways
//
// Each side pings when it has heard nothing for `keepalive_interval` and gives up after
// `keepalive_timeout`: a peer whose kernel died sends nothing.
//
// Thread   the reactor's.
// Errors   on_session_down() once, in words; nothing after it.
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

// No call may destroy the session; bury it instead.
class SessionEvents {
 public:
  virtual ~SessionEvents() = default;
  // The acceptor's: the hello came, and peer() is known. An error is told to the peer, and ends it.
  virtual Result<void> on_hello(Session& session) = 0;
  virtual void on_session_up(Session& session) = 0;  // peer() is known, and is told
  virtual void on_frame(Session& session, const FrameHeader& header, Bytes payload) = 0;
  virtual void on_uncongested(Session& session) = 0;
  virtual void on_session_down(Session& session, const std::string& reason) = 0;
};

// Told of what the two sides say about RDMA lanes (engine/link/lane_set.h).
class LaneFrames {
 public:
  virtual ~LaneFrames() = default;
  virtual void on_lane_frame(const FrameHeader& header, Bytes payload) = 0;
};

// Told of what the two sides say about component costs (engine/link/cost_talk.h).
class CostFrames {
 public:
  virtual ~CostFrames() = default;
  virtual void on_cost_frame(const FrameHeader& header, Bytes payload) = 0;
};

struct SessionOptions {
  std::string node;  // this node's name
  std::string peer;  // initiator: the node it wants; acceptor: empty
  uint64_t generation = 0;
  uint32_t legs = 0;     // Hello::legs
  Seal* seal = nullptr;  // outlives the session; null: frames travel open
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
  // Who it has proved to be; what its hello says of its name is only its word.
  std::span<const std::string> peer_names() const { return lane_->peer_names(); }
  // Frames of RDMA lanes go there; without one, the other side is told that there are none here.
  void set_lanes(LaneFrames* lanes) { lanes_ = lanes; }
  // So do frames about component costs; without one, the other side is refused.
  void set_costs(CostFrames* costs) { costs_ = costs; }
  Lane& lane() { return *lane_; }
  const Lane& lane() const { return *lane_; }
  TimePoint began() const { return began_; }
  void end(const std::string& reason) { go_down(reason); }
  // The lane is idle, and stays so: the peer hears of the end after all that was sent, and then
  // ends the session. Its last replies are lost to no reset, as they might be by a close here.
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
