// SPDX-License-Identifier: Apache-2.0
#include "engine/link/link.h"

#include <algorithm>

namespace hat::engine {

Link::Link(Reactor& reactor, Address address, SessionOptions options, Duration backoff_max,
           uint32_t seed, LinkEvents& events)
    : reactor_(reactor),
      address_(std::move(address)),
      options_(std::move(options)),
      backoff_max_(backoff_max),
      events_(events),
      random_(seed),
      down_since_(reactor.now()),
      retry_(reactor.timer([this] { attempt(); })) {}

void Link::follow(const Link& before) {
  continue_count(before);
  tried_ = true;
  last_error_ = "the peer is shutting down";
}

void Link::set_options(SessionOptions options, Duration backoff_max) {
  DCHECK_EQ(options.peer, options_.peer);
  options_ = std::move(options);
  backoff_max_ = backoff_max;
}

void Link::retire() {
  retired_ = true;
  retry_->cancel();
  if (session_ && !session_->up()) session_->end("the link is no longer needed");
}

void Link::connect_now() {
  DCHECK(!retired_);
  if (session_) return;
  const TimePoint earliest = attempts_ == 0 ? reactor_.now() : last_attempt_ + kBackoffMin;
  if (earliest <= reactor_.now()) return attempt();
  retry_->set(earliest);
}

void Link::attempt() {
  if (session_) return;
  retry_->cancel();
  if (state() == LinkState::kIdle) down_since_ = reactor_.now();
  ++attempts_;
  last_attempt_ = reactor_.now();
  next_stream_ = 1;
  if (!tried_) last_error_ = "the first attempt to connect has not ended";
  going_away_ = session_was_up_ = false;
  session_ = std::make_unique<Session>(
      reactor_, Session::Role::kInitiator, options_,
      [this](StreamEvents& events) { return reactor_.connect(address_, events); }, *this);
}

void Link::on_session_up(Session&) {
  session_was_up_ = tried_ = true;
  ++sessions_;
  backoff_ = kBackoffMin;
  last_error_.clear();
  events_.on_link_up(*this);
}

void Link::on_frame(Session&, const FrameHeader& header, Bytes payload) {
  // A peer that sends kGoAway finishes the calls that it already has, but refuses new calls. New
  // calls therefore wait for the process that replaces this peer, or use another peer.
  if (header.kind == FrameKind::kGoAway) {
    going_away_ = true;
    down_since_ = reactor_.now();
    return events_.on_link_going_away(*this);
  }
  events_.on_link_frame(*this, header, payload);
}

void Link::on_session_down(Session&, const std::string& reason) {
  const bool was_up = session_was_up_;
  if (was_up && !going_away_) down_since_ = reactor_.now();
  tried_ = true;
  last_error_ = reason;
  events_.defer_delete(std::move(session_));
  if (!retired_) try_later();
  events_.on_link_down(*this, was_up, reason);
}

void Link::try_later() {
  // A random addition of up to half the backoff time prevents many daemons from connecting to a
  // restarted peer at the same moment.
  const auto jitter = std::uniform_int_distribution<int64_t>(0, backoff_.count() / 2)(random_);
  retry_->set(reactor_.now() + backoff_ + Duration(jitter));
  backoff_ = std::min(backoff_ * 2, backoff_max_);
}

}  // namespace hat::engine
