// SPDX-License-Identifier: Apache-2.0
// engine/link/link.h: this worker's way to one peer: a session that is built when the daemon starts
// and rebuilt whenever it breaks, with backoff.
//
// Thread   the reactor's.
// Errors   none are returned: on_link_down() says why, and the link goes on trying.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <string>

#include "engine/link/session.h"

namespace hat::engine {

class Link;

class LinkEvents {
 public:
  virtual ~LinkEvents() = default;
  virtual void on_link_up(Link& link) = 0;
  virtual void on_link_frame(Link& link, const FrameHeader& header, Bytes payload) = 0;
  virtual void on_link_uncongested(Link& link) = 0;
  // The peer wants to leave: no new call begins here. agree_to_go_away() once all that was sent has
  // come there, by whatever lane.
  virtual void on_link_going_away(Link& link) = 0;
  // `was_up`: false where an attempt to connect failed.
  virtual void on_link_down(Link& link, bool was_up, const std::string& reason) = 0;
  // Keeps a broken session until no event of it can be running (the turn's end).
  virtual void bury(std::unique_ptr<Session> session) = 0;
};

class Link final : public SessionEvents {
 public:
  static constexpr Duration kBackoffMin = std::chrono::milliseconds(10);
  static constexpr const char* kNotTried = "not tried yet";  // the first last_error()

  Link(Reactor& reactor, Address address, SessionOptions options, Duration backoff_max,
       uint32_t seed, LinkEvents& events);

  // Takes the place of a link to a peer that leaves: its counts go on.
  void follow(const Link& before);
  // The session that there is, is the last.
  void retire() { retired_ = true; }

  // Begins, and begins again at once where the link waits for its backoff: a call needs it.
  void connect_now();

  // Pushes the turn's frames, the hello of a young session included.
  void flush() {
    if (session_) session_->lane().flush();
  }

  void agree_to_go_away() { session_->lane().send({.kind = FrameKind::kGoAway}, {}); }

  const std::string& peer() const { return options_.peer; }
  const Address& address() const { return address_; }
  // Frames of streams that exist go through; new calls only where takes_calls() too.
  bool up() const { return session_ && session_->up(); }
  bool takes_calls() const { return up() && !going_away_ && !session_->lane().broken(); }
  Lane& lane() { return session_->lane(); }  // while up
  Session& session() { return *session_; }   // while up
  // Since when it takes no calls; meaningless while it does.
  TimePoint down_since() const { return down_since_; }
  // Connecting or connected; when the last attempt began, so that a call can tell one made for it.
  bool trying() const { return session_ != nullptr; }
  TimePoint last_attempt() const { return last_attempt_; }
  // Sessions so far: a stream belongs to one.
  uint64_t sessions() const { return sessions_; }
  const std::string& last_error() const { return last_error_; }
  // A stream id for this session; by the time that they start again, the old ones are long gone.
  uint32_t next_stream() {
    return next_stream_ == 0 ? next_stream_ = 1, next_stream_++ : next_stream_++;
  }

 private:
  Result<void> on_hello(Session&) override { return {}; }  // it is the initiator
  void on_session_up(Session& session) override;
  void on_frame(Session& session, const FrameHeader& header, Bytes payload) override;
  void on_uncongested(Session& session) override;
  void on_session_down(Session& session, const std::string& reason) override;

  void attempt();
  void try_later();

  Reactor& reactor_;
  const Address address_;
  const SessionOptions options_;
  const Duration backoff_max_;
  LinkEvents& events_;
  std::minstd_rand random_;
  Duration backoff_ = kBackoffMin;
  TimePoint down_since_;
  TimePoint last_attempt_{};
  uint64_t attempts_ = 0;
  uint64_t sessions_ = 0;
  uint32_t next_stream_ = 1;
  bool going_away_ = false;
  bool retired_ = false;
  std::string last_error_ = kNotTried;
  std::unique_ptr<Timer> retry_;
  std::unique_ptr<Session> session_;
};

}  // namespace hat::engine
