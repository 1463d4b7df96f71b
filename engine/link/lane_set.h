// SPDX-License-Identifier: Apache-2.0
// engine/link/lane_set.h: the RDMA lanes beside one session of a link: made when they are wanted,
// given back when they are idle, and watched.
//
//   initiator: open() ──▶ on_lane_up() … lane(n)->send() … close(), or idle for idle_timeout
//   any time:  on_lane_down(), with the reason: the lane can still be asked for fates in there
//
// How soon a failure is noticed:
//   something is on its way     ack_timeout * (retries + 1) of the lane's queue pair
//   nothing is                  a probe every probe_interval: the other side's queue pair must
//                               answer within ack_timeout * (retries + 1), or probe_timeout at most
//   the other side notices      at once: its kLaneClose says so over TCP
//   the link goes down          end(): all lanes go down with it (Session: keepalive_timeout)
//
// Bounds   lanes_max lanes; their memory is of the link's domain: what finds no room is refused, in
//          words. A lane that is not up within open_timeout is given up.
// Thread   the reactor's.
// Errors   on_lane_down(), never a return value.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/link/lane_messages.h"
#include "engine/link/session.h"
#include "engine/rdma/rdma_lane.h"

namespace hat::engine {

class LaneSet;

class LaneSetEvents {
 public:
  virtual ~LaneSetEvents() = default;
  // Acceptor: how it answers on such a lane; an error refuses it.
  virtual Result<LaneShape> on_lane_wanted(const LaneWish& wish) = 0;
  virtual void on_lane_up(LaneSet& lanes, uint32_t lane) = 0;
  virtual void on_lane_message(LaneSet& lanes, uint32_t lane, const FrameHeader& header,
                               Bytes payload) = 0;
  virtual void on_lane_uncongested(LaneSet& lanes, uint32_t lane) = 0;
  // RdmaLane::send_lent()'s memory is its owner's again.
  virtual void on_lane_returned(LaneSet&, [[maybe_unused]] uint32_t lane,
                                [[maybe_unused]] uint64_t frame) {}
  // Initiator: a lane that nothing has moved on for idle_timeout, and on which no answer is due, is
  // given back unless this says no.
  virtual bool may_close(LaneSet&, [[maybe_unused]] uint32_t lane) { return true; }
  // After on_lane_down(), in a later flush() or with the set: nothing reads or writes what was lent
  // to it any more.
  virtual void on_lane_gone(LaneSet&, [[maybe_unused]] uint32_t lane) {}
  // Once for each lane that was opened or had come up.
  virtual void on_lane_down(LaneSet& lanes, uint32_t lane, bool was_up,
                            const std::string& reason) = 0;
};

struct LaneSetOptions {
  RdmaLaneOptions lane;  // but its shapes
  uint32_t lanes_max = 64;
  Duration open_timeout = std::chrono::seconds(2);
  Duration idle_timeout = std::chrono::seconds(30);
  Duration probe_interval = std::chrono::seconds(1);
  Duration probe_timeout = std::chrono::seconds(2);
  bool nonces = true;  // the peer knows them: knows_nonces()
};

class LaneSet final : public LaneFrames {
 public:
  static constexpr const char* kIdle = "it was idle";  // on_lane_down()'s reason then

  // All outlive it. `control` is the session's TCP lane.
  LaneSet(Reactor& reactor, RdmaHost& host, Session::Role role, Lane& control,
          const LaneSetOptions& options, LaneSetEvents& events);
  ~LaneSet() override;

  // Initiator. The lane's number; it is up after on_lane_up(). 0: the link has ended.
  uint32_t open(const LaneWish& wish);
  void close(uint32_t lane, const std::string& reason);
  // Null while it is not up. In on_lane_down(): the lane that went down, for fate() alone.
  RdmaLane* lane(uint32_t number);
  size_t size() const { return members_.size(); }
  // Pushes what was sent on all lanes; the worker calls it once a turn.
  void flush();
  // Whether the other side has taken all that was sent on all lanes; it is asked where it has not
  // said so.
  bool all_taken();
  // Where there is or was a lane: what it copies to and from.
  const std::shared_ptr<Fabric>& fabric() const { return domain_->fabric(); }
  // The link is down, and so are all lanes.
  void end(const std::string& reason);

  void on_lane_frame(const FrameHeader& header, Bytes payload) override;

 private:
  enum class State : uint8_t { kOpening, kAccepted, kReady, kUp, kDown };
  struct Member final : LaneEvents {
    Member(LaneSet& of, uint32_t its_number) : set(of), number(its_number) {}
    void on_frame(const FrameHeader& header, Bytes payload) override;
    void on_uncongested() override;
    void on_returned(uint64_t frame) override;
    void on_down(const std::string& reason) override;

    LaneSet& set;
    const uint32_t number;
    State state = State::kOpening;
    bool told = false;  // on_lane_down() was called
    LaneWish wish;
    TimePoint began{};
    TimePoint last_used{};
    TimePoint probed{};
    uint64_t moved = 0;  // messages, when last looked at
    uint64_t asked = 0;  // messages, when last asked to settle
    LaneNonce nonce{};   // acceptor: what must be shown
    bool shown = false;
    std::unique_ptr<RdmaLane> lane;
  };

  void take_open(uint32_t number, Bytes payload);
  Result<void> accept(Member& member, Bytes payload);
  void take_accept(Member& member, Bytes payload);
  Result<void> make(Member& member, const LaneShape& out, const LaneShape& in);
  void take_ready(Member& member, Bytes payload);
  void take_up(Member& member, Bytes payload);
  void take_nonce(Member& member, const FrameHeader& header, Bytes payload);
  void come_up(Member& member);
  void go_down(Member& member, const std::string& reason, bool tell);
  void end_buried();
  void tell_closed(uint32_t number, const std::string& reason);
  void look_after_all();
  void look_after(Member& member, TimePoint now);
  void send(FrameKind kind, uint32_t number, Bytes payload) {
    control_.send({.kind = kind, .stream = number}, {payload});
  }

  Reactor& reactor_;
  RdmaHost& host_;
  std::shared_ptr<RdmaDomain> domain_;  // null until the first lane is made
  const Session::Role role_;
  Lane& control_;
  const LaneSetOptions options_;
  LaneSetEvents& events_;
  uint32_t owner_ = 0;  // of what its peer WRITES
  uint32_t last_number_ = 0;
  bool ended_ = false;
  std::map<uint32_t, std::unique_ptr<Member>> members_;
  std::vector<std::unique_ptr<Member>> buried_;  // until no event of theirs can be running
  std::unique_ptr<Timer> timer_;
};

}  // namespace hat::engine
