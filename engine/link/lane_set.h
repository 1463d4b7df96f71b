// SPDX-License-Identifier: Apache-2.0
// engine/link/lane_set.h: manages the RDMA lanes (RDMA connections to one peer daemon) that belong
// to one session of a link. A session is one TCP connection to the peer, and its two sides are the
// initiator, which opened the TCP connection, and the acceptor. A LaneSet creates lanes on demand,
// ends idle lanes, and detects failed lanes.
//
//   initiator: open() ──▶ on_lane_up() … lane(n)->send() … close(), or idle for idle_timeout
//   any time:  on_lane_down(), with the reason; during that call, lane(n)->fate() still works
//
// How soon a LaneSet notices that a lane has failed:
//   work requests are outstanding      after ack_timeout * (retries + 1) of the lane's queue pair
//   no work request is outstanding     by a probe, which is sent every probe_interval: the other
//                                      side's queue pair must answer within ack_timeout *
//                                      (retries + 1), and within probe_timeout at most
//   the other side notices a failure   at once, because the other side sends kLaneClose over TCP
//   the session ends                   at once, because end() ends all lanes (a session ends if the
//                                      peer sends nothing on TCP for keepalive_timeout)
//
// Bounds   An acceptor accepts at most lanes_max lanes. Lanes use the registered memory of the
//          link's domain, which the link has from its first lane until domain_linger after the end
//          of its last lane, so that a peer that opens and closes lanes does not make a domain each
//          time. The acceptor refuses a lane, with a reason, if there is no memory for the domain,
//          or if the domain's memory has no space for the lane. After a domain was refused, the set
//          asks for one again after probe_interval; likewise if the fabric refuses more memory for
//          large messages. Each side closes a lane
//          that is not up within open_timeout.
// Thread   Only the reactor's thread uses this class.
// Errors   A failed lane is reported by on_lane_down(), never by a return value.
#pragma once

#include <map>
#include <memory>
#include <optional>
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
  // Returns the shape (the leg and the slots) with which this side, the acceptor, sends on the lane
  // that the initiator requests with `wish`. If this function returns an error, the lane is
  // refused.
  virtual Result<LaneShape> on_lane_wanted(const LaneWish& wish) = 0;
  // Reports that this side, the acceptor, has refused a lane. `reason` can contain bytes that the
  // peer sent.
  virtual void on_lane_refused(LaneSet&, [[maybe_unused]] const std::string& reason) {}
  virtual void on_lane_up(LaneSet& lanes, uint32_t lane) = 0;
  // Handles a frame that has arrived on a lane, by the leg `leg`.
  virtual void on_lane_message(LaneSet& lanes, uint32_t lane, const FrameHeader& header,
                               Bytes payload, Leg leg) = 0;
  // Returns the memory for the payload of a frame that the lane is about to READ, or no memory
  // (LaneEvents::landing_for()).
  virtual Landing on_lane_landing(LaneSet&, [[maybe_unused]] uint32_t lane,
                                  [[maybe_unused]] const FrameHeader& header,
                                  [[maybe_unused]] bool is_next) {
    return {};
  }
  // Reports that the lane no longer uses the memory that frame `frame` borrowed from an application
  // (RdmaLane::send_zero_copy()).
  virtual void on_lane_returned(LaneSet&, [[maybe_unused]] uint32_t lane,
                                [[maybe_unused]] uint64_t frame) {}
  // Returns false to keep an idle lane open. Only the initiator's set calls this function, for a
  // lane that has carried no message for idle_timeout and on which no reply is outstanding.
  virtual bool may_close(LaneSet&, [[maybe_unused]] uint32_t lane) { return true; }
  // Reports that the RDMA hardware no longer reads or writes the application memory that the lane
  // had borrowed or that on_lane_landing() had returned. Called after on_lane_down(): in a later
  // flush() or in the destructor of the set.
  virtual void on_lane_gone(LaneSet&, [[maybe_unused]] uint32_t lane) {}
  // Returns the budget against which the domain of the set counts (RdmaHost::domain_for_link());
  // null: only that of the RdmaHost.
  virtual std::shared_ptr<RdmaBudget> budget_of_domain(LaneSet&) { return nullptr; }
  // Reports that the set, which has no lane, releases its domain. The owner must release the memory
  // that it has registered with LaneSet::fabric(). Not called if the set is destroyed before its
  // lanes ended.
  virtual void on_domain_gone(LaneSet&) {}
  // Reports the end of a lane. Called once for each lane that this side has opened and once for
  // each other lane that was up.
  virtual void on_lane_down(LaneSet& lanes, uint32_t lane, bool was_up,
                            const std::string& reason) = 0;
};

struct LaneSetOptions {
  RdmaLaneOptions lane;  // options for every lane; LaneSet sets the shapes in a copy
  uint32_t lanes_max = 64;
  Duration open_timeout = std::chrono::seconds(2);
  Duration idle_timeout = std::chrono::seconds(30);
  Duration probe_interval = std::chrono::seconds(1);
  Duration probe_timeout = std::chrono::seconds(2);
  Duration domain_linger = std::chrono::seconds(5);
  bool nonces = true;  // the peer supports nonces (knows_nonces() in engine/link/hello.h)
};

class LaneSet final : public LaneFrames {
 public:
  static constexpr const char* kIdle = "it was idle";  // on_lane_down()'s reason for an idle lane

  // Creates a set without lanes. Frames that create and end lanes are sent on `control`, the
  // session's TCP connection. All arguments except `options` must outlive the set.
  LaneSet(Reactor& reactor, RdmaHost& host, Session::Role role, Lane& control,
          const LaneSetOptions& options, LaneSetEvents& events);
  ~LaneSet() override;

  // Starts to open a lane and returns the lane's number, or 0 if the session has ended. Only the
  // initiator may call this function. The lane is usable after on_lane_up().
  uint32_t open(const LaneWish& wish);
  // Ends a lane and sends `reason` to the peer. Does nothing if no such lane exists.
  void close(uint32_t lane, const std::string& reason);
  // Returns the lane with this number, or null if that lane is not up. During on_lane_down(), also
  // returns the lane that has gone down; the caller may call only fate() on that lane.
  RdmaLane* lane(uint32_t number);
  size_t size() const { return members_.size(); }
  // Posts the queued frames of all lanes. The worker calls this function once per event-loop
  // iteration.
  void flush();
  // Returns true if the peer has acknowledged every frame that this side sent on any lane. Requests
  // an acknowledgement on each lane that has unacknowledged frames.
  bool all_taken();
  // Returns the fabric of the lanes. May be called only while the set has a lane.
  const std::shared_ptr<Fabric>& fabric() const { return domain_->fabric(); }
  // Returns true if all lanes of the set end because what they share has failed.
  bool domain_has_failed() const { return domain_ && domain_->failed(); }
  // Ends all lanes, because the link is down.
  void end(const std::string& reason);

  void on_lane_frame(const FrameHeader& header, Bytes payload) override;

 private:
  enum class State : uint8_t { kOpening, kAccepted, kReady, kUp, kDown };
  struct Member final : LaneEvents {
    Member(LaneSet& of, uint32_t its_number) : set(of), number(its_number) {}
    void on_frame(const FrameHeader& header, Bytes payload) override;
    Landing landing_for(const FrameHeader& header, bool is_next) override;
    void on_returned(uint64_t frame) override;
    void on_down(const std::string& reason) override;

    LaneSet& set;
    const uint32_t number;
    State state = State::kOpening;
    bool reported =
        false;  // on_lane_down() was or is being called, so on_lane_gone() has to follow
    LaneWish wish;
    TimePoint began{};
    TimePoint last_used{};
    TimePoint probed{};
    uint64_t moved = 0;  // RdmaLane::messages() at the last check by look_after()
    uint64_t asked = 0;  // RdmaLane::messages() when all_taken() last called settle() on the lane
    LaneNonce nonce{};   // acceptor: the nonce that the initiator must send on the lane
    bool shown = false;  // acceptor: the initiator has sent the nonce on the lane
    std::unique_ptr<RdmaLane> lane;
  };

  void take_open(uint32_t number, Bytes payload);
  Result<void> accept(Member& member, Bytes payload);
  void take_accept(Member& member, Bytes payload);
  Result<void> make(Member& member, const LaneShape& out, const LaneShape& in);
  Result<void> make_domain();
  void leave_failed_domain();
  void release_unused_domain();
  void release_domain();
  void take_ready(Member& member, Bytes payload);
  void take_up(Member& member, Bytes payload);
  void take_nonce(Member& member, const FrameHeader& header, Bytes payload);
  void come_up(Member& member);
  void go_down(Member& member, const std::string& reason, bool report);
  void end_deferred();
  void report_closed(uint32_t number, const std::string& reason);
  void look_after_all();
  void look_after(Member& member, TimePoint now);
  void send(FrameKind kind, uint32_t number, Bytes payload) {
    control_.send({.kind = kind, .stream = number}, {payload});
  }

  Reactor& reactor_;
  RdmaHost& host_;
  std::shared_ptr<RdmaDomain> domain_;     // not null while the set has a lane
  TimePoint asked_for_memory_{};           // when the arena's refusals were last forgotten
  std::optional<TimePoint> unused_since_;  // since when `domain_` has had no lane
  std::optional<Error> why_no_domain_;     // the host has refused a domain at no_domain_since_
  TimePoint no_domain_since_{};
  const Session::Role role_;
  Lane& control_;
  const LaneSetOptions options_;
  LaneSetEvents& events_;
  uint32_t owner_ = 0;  // the number of this peer as an owner of memory, from Arena::new_owner()
  uint32_t last_number_ = 0;
  bool ended_ = false;
  std::map<uint32_t, std::unique_ptr<Member>> members_;
  // Members whose lanes went down. Their deletion is deferred until no callback of a member can be
  // running.
  std::vector<std::unique_ptr<Member>> deferred_;
  std::unique_ptr<Timer> timer_;
};

}  // namespace hat::engine
