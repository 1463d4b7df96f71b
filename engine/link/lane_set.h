// SPDX-License-Identifier: Apache-2.0
// engine/link/lane_set.h: the RDMA lanes of one session of a link: creates them on demand, ends
// them when they are idle, and watches over them.
//
//   initiator: open() ──▶ on_lane_up() … lane(n)->send() … close(), or idle for idle_timeout
//   any time:  on_lane_down(), with the reason; during that call, lane(n)->fate() still works
//
// How soon a failure is noticed:
//   requests are outstanding    after ack_timeout * (retries + 1) of the lane's queue pair
//   no request is outstanding   by a probe every probe_interval: the other side's queue pair must
//                               answer within ack_timeout * (retries + 1), or probe_timeout at most
//   the other side notices      at once: it sends kLaneClose over TCP
//   the link goes down          with the link (Session: keepalive_timeout): end() ends all lanes
//
// Bounds   an acceptor accepts at most lanes_max lanes. Their memory is that of the link's domain:
//          a lane for which it has no space is refused, with a reason. A lane that is not up within
//          open_timeout is closed.
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
  // Returns the shape by which this side, the acceptor, sends on such a lane. An error refuses the
  // lane.
  virtual Result<LaneShape> on_lane_wanted(const LaneWish& wish) = 0;
  virtual void on_lane_up(LaneSet& lanes, uint32_t lane) = 0;
  virtual void on_lane_message(LaneSet& lanes, uint32_t lane, const FrameHeader& header,
                               Bytes payload) = 0;
  virtual void on_lane_uncongested(LaneSet& lanes, uint32_t lane) = 0;
  // Returns the range that frame `frame` borrowed (RdmaLane::send_zero_copy()): the lane no longer
  // uses it.
  virtual void on_lane_returned(LaneSet&, [[maybe_unused]] uint32_t lane,
                                [[maybe_unused]] uint64_t frame) {}
  // Returns false to keep an idle lane open. The initiator calls it for a lane that has carried no
  // message for idle_timeout, and on which no reply is due.
  virtual bool may_close(LaneSet&, [[maybe_unused]] uint32_t lane) { return true; }
  // Reports that nothing reads or writes the ranges that the lane had borrowed any more. Follows
  // on_lane_down(), in a later flush() or in the destructor of the set.
  virtual void on_lane_gone(LaneSet&, [[maybe_unused]] uint32_t lane) {}
  // Reports the end of a lane, once for each lane that this side has opened and for each that was
  // up.
  virtual void on_lane_down(LaneSet& lanes, uint32_t lane, bool was_up,
                            const std::string& reason) = 0;
};

struct LaneSetOptions {
  RdmaLaneOptions lane;  // without its shapes
  uint32_t lanes_max = 64;
  Duration open_timeout = std::chrono::seconds(2);
  Duration idle_timeout = std::chrono::seconds(30);
  Duration probe_interval = std::chrono::seconds(1);
  Duration probe_timeout = std::chrono::seconds(2);
  bool nonces = true;  // knows_nonces() of the peer
};

class LaneSet final : public LaneFrames {
 public:
  static constexpr const char* kIdle = "it was idle";  // on_lane_down()'s reason for an idle lane

  // Uses `control`, the session's TCP lane. All arguments but `options` must outlive the set.
  LaneSet(Reactor& reactor, RdmaHost& host, Session::Role role, Lane& control,
          const LaneSetOptions& options, LaneSetEvents& events);
  ~LaneSet() override;

  // Starts to open a lane and returns its number; only the initiator may call it. The lane is
  // usable after on_lane_up(). Returns 0 if the link has ended.
  uint32_t open(const LaneWish& wish);
  void close(uint32_t lane, const std::string& reason);
  // Returns null if the lane is not up. During on_lane_down(), returns the lane that went down, on
  // which only fate() may be called.
  RdmaLane* lane(uint32_t number);
  size_t size() const { return members_.size(); }
  // Posts the frames that were queued on all lanes. The worker calls it once per event-loop
  // iteration.
  void flush();
  // Returns true if the other side has acknowledged everything that was sent on all lanes. Asks for
  // an acknowledgement on each lane on which one is missing.
  bool all_taken();
  // Returns the fabric of the lanes. May be called only once a lane has been created.
  const std::shared_ptr<Fabric>& fabric() const { return domain_->fabric(); }
  // Ends all lanes, because the link is down.
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
    uint64_t moved = 0;  // RdmaLane::messages() at the last check by look_after()
    uint64_t asked = 0;  // RdmaLane::messages() at the last settle() of all_taken()
    LaneNonce nonce{};   // acceptor: the nonce that the initiator must send on the lane
    bool shown = false;  // acceptor: the initiator has sent it
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
  void end_deferred();
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
  uint32_t owner_ = 0;  // the peer's number from Arena::new_owner()
  uint32_t last_number_ = 0;
  bool ended_ = false;
  std::map<uint32_t, std::unique_ptr<Member>> members_;
  // Members whose deletion is deferred until no event of theirs can be running.
  std::vector<std::unique_ptr<Member>> deferred_;
  std::unique_ptr<Timer> timer_;
};

}  // namespace hat::engine
