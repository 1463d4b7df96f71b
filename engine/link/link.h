// SPDX-License-Identifier: Apache-2.0
// engine/link/link.h: a worker's connection to one peer daemon. A link opens a session (one TCP
// connection) with the first connect_now(). From then on, whenever the session breaks, the link
// opens a new session, after a backoff time.
//
// Thread   Only the reactor's thread uses this class.
// Errors   No function returns an error. on_link_down() gives the reason, and the link tries again.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <string>

#include "engine/link/session.h"

namespace hat::engine {

class Link;

enum class LinkState : uint8_t {
  kIdle,        // no call has needed the link, so it has made no attempt to connect
  kConnecting,  // the first attempt to connect has not ended
  kUp,          // new calls can use the link
  kDown,        // the last attempt failed, the session broke, or the peer is shutting down
};
constexpr const char* name(LinkState state) {
  constexpr const char* kNames[] = {"idle", "connecting", "up", "down"};
  return kNames[static_cast<size_t>(state)];
}

class LinkEvents {
 public:
  virtual ~LinkEvents() = default;
  virtual void on_link_up(Link& link) = 0;
  virtual void on_link_frame(Link& link, const FrameHeader& header, Bytes payload) = 0;
  // Reports that the peer is going to shut down, so new calls must not use this link. The
  // implementation calls agree_to_go_away() once all frames that it sent, on TCP or RDMA lanes,
  // have arrived at the peer.
  virtual void on_link_going_away(Link& link) = 0;
  // Reports the end of a session or, if `was_up` is false, a failed attempt to connect.
  virtual void on_link_down(Link& link, bool was_up, const std::string& reason) = 0;
  // Deletes a broken session at the end of the event-loop iteration, when no callback of the
  // session can be running.
  virtual void defer_delete(std::unique_ptr<Session> session) = 0;
};

class Link final : public SessionEvents {
 public:
  static constexpr Duration kBackoffMin = std::chrono::milliseconds(10);

  Link(Reactor& reactor, Address address, SessionOptions options, Duration backoff_max,
       uint32_t seed, LinkEvents& events);

  // Continues the count of sessions() of `before`, which this link replaces.
  void continue_count(const Link& before) { sessions_ = before.sessions_; }
  // Does the same, and records that the peer of `before` is going to shut down: until this link has
  // connected, its state is kDown.
  void follow(const Link& before);
  // Sets the options of later sessions, with the same peer, and the longest backoff time.
  void set_options(SessionOptions options, Duration backoff_max);
  // Makes the link take no new calls, and not reconnect after the current session ends. Ends a
  // session that is not up yet.
  void retire();
  // Ends the session of a link that is up, after retire(), when no stream uses the link. Everything
  // that was sent must have left this host.
  void finish() { session_->finish(); }

  // Connects soon, because a call needs the link: does not wait for the end of the backoff time,
  // but only until kBackoffMin has passed since the last attempt. Does nothing if a session exists.
  void connect_now();

  // Sends the frames of this event-loop iteration, including the hello of a new session.
  void flush() {
    if (session_) session_->lane().flush();
  }

  // Sends kGoAway to the peer: this side begins no more calls on the link. Call it only while up()
  // returns true.
  void agree_to_go_away() { session_->lane().send({.kind = FrameKind::kGoAway}, {}); }

  const std::string& peer() const { return options_.peer; }
  const Address& address() const { return address_; }
  // Returns true if the link can carry frames of existing streams. A link that is up but going away
  // cannot carry new calls: for these, check takes_calls().
  bool up() const { return session_ && session_->up(); }
  // Returns true if new calls can use the link.
  bool takes_calls() const {
    return up() && !going_away_ && !retired_ && !session_->lane().broken();
  }
  // Returns the TCP lane of a link that is up; session() returns the session of such a link.
  Lane& lane() { return session_->lane(); }
  const Lane& lane() const { return session_->lane(); }
  Session& session() { return *session_; }
  const Session& session() const { return *session_; }
  // Returns the time since which the link takes no calls although it was needed; meaningless while
  // it takes calls or is idle.
  TimePoint down_since() const { return down_since_; }
  LinkState state() const {
    if (takes_calls()) return LinkState::kUp;
    if (tried_) return LinkState::kDown;
    return attempts_ == 0 ? LinkState::kIdle : LinkState::kConnecting;
  }
  // Returns true if the link is connecting or connected.
  bool trying() const { return session_ != nullptr; }
  // Returns when the last attempt to connect began. A caller compares the time with the start of a
  // Thrift call to find out whether the link has tried to connect since then.
  TimePoint last_attempt() const { return last_attempt_; }
  // Returns how many sessions have been up so far, including the current one. A stream belongs to
  // one session, so a changed count means that the streams of the earlier session are gone.
  uint64_t sessions() const { return sessions_; }
  // Returns why the link takes no calls; empty if it takes calls or no attempt was made.
  const std::string& last_error() const { return last_error_; }
  // Returns a number for a new stream of this session. Numbers start again at 1 after 2^32 - 1.
  uint32_t next_stream() {
    return next_stream_ == 0 ? next_stream_ = 1, next_stream_++ : next_stream_++;
  }

 private:
  Result<void> on_hello(Session&) override { return {}; }  // only an acceptor's session calls it
  void on_session_up(Session& session) override;
  void on_frame(Session& session, const FrameHeader& header, Bytes payload) override;
  void on_session_down(Session& session, const std::string& reason) override;

  void attempt();
  void try_later();

  Reactor& reactor_;
  const Address address_;
  SessionOptions options_;
  Duration backoff_max_;
  LinkEvents& events_;
  std::minstd_rand random_;
  Duration backoff_ = kBackoffMin;
  TimePoint down_since_;
  TimePoint last_attempt_{};
  uint64_t attempts_ = 0;
  uint64_t sessions_ = 0;
  uint32_t next_stream_ = 1;
  bool session_was_up_ = false;  // the session (or the last one, if none exists) has been up
  bool going_away_ = false;
  bool retired_ = false;
  bool tried_ = false;  // an attempt to connect has succeeded or failed
  std::string last_error_;
  std::unique_ptr<Timer> retry_;
  std::unique_ptr<Session> session_;
};

}  // namespace hat::engine
