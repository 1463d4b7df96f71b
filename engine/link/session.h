// SPDX-License-Identifier: Apache-2.0
// engine/link/session.h: one TCP connection between two daemons, from its hello (the first frame,
// which names the sender) to its end. A link is a series of sessions.
//
//   initiator: kHello ──▶            ◀── kHello | kRefuse          then frames both ways
//
// A side sends a ping when it has received nothing for `keepalive_interval`, and ends the session
// when it has still received nothing after the rest of `keepalive_timeout`. Without pings, a
// session would not notice that the peer's host has crashed, because a crashed host does not send a
// TCP reset. A quiet session costs each side one timer event and one frame in an interval: the
// pings of one side serve both. While a session carries no streams, the interval is longer, so that
// a host can have links to many peers (set_carries_streams()).
//
// Thread   Only the reactor's thread uses this class.
// Errors   on_session_down() is called once, with a sentence; no other callback follows.
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

// The callbacks of a session. A callback must not destroy the session; the session's owner must
// defer the deletion until the callback has returned.
class SessionEvents {
 public:
  virtual ~SessionEvents() = default;
  // Reports that the initiator's hello has arrived, so that Session::peer() is known. Only an
  // acceptor's session calls this function. If it returns an error, the session sends the error's
  // text to the peer and ends.
  virtual Result<void> on_hello(Session& session) = 0;
  virtual void on_session_up(Session& session) = 0;  // both hellos have arrived; peer() is known
  virtual void on_frame(Session& session, const FrameHeader& header, Bytes payload) = 0;
  virtual void on_session_down(Session& session, const std::string& reason) = 0;
};

// Receives the frames of a session that create and end RDMA lanes (engine/link/lane_set.h).
class LaneFrames {
 public:
  virtual ~LaneFrames() = default;
  virtual void on_lane_frame(const FrameHeader& header, Bytes payload) = 0;
};

// Receives those frames of a session that serve to measure the costs of RDMA
// (engine/link/calibration_session.h).
class CostFrames {
 public:
  virtual ~CostFrames() = default;
  virtual void on_cost_frame(const FrameHeader& header, Bytes payload) = 0;
};

struct SessionOptions {
  std::string node;          // this node's name
  std::string peer;          // initiator: the peer's name; acceptor: empty
  bool peer_is_node = true;  // initiator: the node there must have the name `peer`
  uint64_t generation = 0;   // Hello::generation
  uint32_t legs = 0;         // Hello::legs
  CoreCounts cores;          // acceptor: Hello::cores, for peers that know it
  Seal* seal = nullptr;      // must outlive the session; null: frames are sent in clear text
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
  const Hello& peer() const { return peer_; }  // the peer's hello; empty until it has arrived
  // Returns the names that the peer has proved with its TLS certificate. The name in the peer's
  // hello is not proved.
  std::span<const std::string> peer_names() const { return lane_->peer_names(); }
  // Sets the receiver of frames about RDMA lanes. Without a receiver, this side refuses RDMA lanes.
  void set_lanes(LaneFrames* lanes) { lanes_ = lanes; }
  // Sets the receiver of frames for measuring RDMA costs. Without a receiver, this side refuses to
  // measure.
  void set_costs(CostFrames* costs) { costs_ = costs; }
  Lane& lane() { return *lane_; }
  const Lane& lane() const { return *lane_; }
  TimePoint began() const { return began_; }
  // Sets whether the session carries streams; a new session counts as carrying some. Without
  // streams, a ping follows kIdleIntervals times `keepalive_interval` of silence. A session that
  // carries streams again pings at once if the peer has been silent for `keepalive_interval`.
  static constexpr int kIdleIntervals = 10;
  void set_carries_streams(bool streams);
  void end(const std::string& reason) { go_down(reason); }
  // Closes this side's direction of the TCP connection. Call it only if nothing is queued on the
  // lane and nothing more will be sent. The peer reads everything that was sent, then the end of
  // the stream, and then ends the session. If this side closed both directions instead, a TCP reset
  // could destroy the last replies on their way to the peer.
  void finish() { lane_->end_writes(); }

 private:
  enum class State : uint8_t { kHandshake, kUp, kDown };

  void on_frame(const FrameHeader& header, Bytes payload) override;
  void on_down(const std::string& reason) override;

  void on_lane_frame(const FrameHeader& header, Bytes payload);
  void on_cost_frame(const FrameHeader& header, Bytes payload);
  void take_first_frame(const FrameHeader& header, Bytes payload);
  void say_hello();
  // Removes the cores from a peer's hello if they are impossible, or if this side is the acceptor.
  void drop_useless_cores(Hello& hello) const;
  void refuse(const std::string& reason);
  void go_down(const std::string& reason);
  void check_alive();
  Duration keepalive_interval() const {
    return options_.keepalive_interval * (carries_ ? 1 : kIdleIntervals);
  }
  // Returns true if the peer has sent nothing since the last ping.
  bool waits_for_pong() const { return pinged_ > lane_->last_received(); }

  Reactor& reactor_;
  const Role role_;
  const SessionOptions options_;
  SessionEvents& events_;
  State state_ = State::kHandshake;
  Hello peer_;
  TimePoint began_;
  TimePoint pinged_{};   // the time of the last ping
  bool carries_ = true;  // streams
  LaneFrames* lanes_ = nullptr;
  CostFrames* costs_ = nullptr;
  std::unique_ptr<Timer> timer_;
  std::unique_ptr<TcpLane> lane_;
};

}  // namespace hat::engine
