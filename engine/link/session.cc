// SPDX-License-Identifier: Apache-2.0
#include "engine/link/session.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "engine/link/said_by_peer.h"

namespace hat::engine {
namespace {

OpenStream sealed(Session::Role role, const SessionOptions& options, const OpenStream& open) {
  if (options.seal == nullptr) return open;
  return [role, &options, &open](StreamEvents& events) {
    return role == Session::Role::kInitiator ? options.seal->connect(options.peer, open, events)
                                             : options.seal->accept(open, events);
  };
}

}  // namespace

Session::Session(Reactor& reactor, Role role, SessionOptions options, const OpenStream& open,
                 SessionEvents& events)
    : reactor_(reactor),
      role_(role),
      options_(std::move(options)),
      events_(events),
      began_(reactor.now()),
      timer_(reactor.timer([this] { check_alive(); })),
      lane_(std::make_unique<TcpLane>(reactor, sealed(role, options_, open), *this)) {
  timer_->set(began_ + options_.handshake_timeout);
  if (role_ == Role::kInitiator) say_hello();
}

void Session::say_hello() {
  Hello hello{.generation = options_.generation,
              .legs = options_.legs,
              .node = options_.node,
              .peer = options_.peer_is_node ? options_.peer : ""};
  if (role_ == Role::kAcceptor && knows_cores(peer_)) {
    CHECK(is_possible(options_.cores)) << options_.cores.cores << ", " << options_.cores.nic_cores;
    hello.cores = options_.cores;
  }
  lane_->send({.kind = FrameKind::kHello}, {encode(hello)});
}

// The cores only improve plans, so wrong numbers must not prevent the link.
void Session::drop_useless_cores(Hello& hello) const {
  if (!hello.cores || (role_ == Role::kInitiator && is_possible(*hello.cores))) return;
  if (role_ == Role::kInitiator) {
    LOG(WARNING) << "peer " << hello.node << " says that its host has " << hello.cores->cores
                 << " cores, " << hello.cores->nic_cores
                 << " of them near its NIC, which is not possible; plans of its replies use the "
                    "cores of this host";
  }
  hello.cores.reset();
}

void Session::refuse(const std::string& reason) {
  lane_->send({.kind = FrameKind::kRefuse}, {std::as_bytes(std::span(reason))});
  lane_->flush();
  go_down("the hello was not accepted: " + reason);
}

void Session::take_first_frame(const FrameHeader& header, Bytes payload) {
  if (header.kind == FrameKind::kRefuse && role_ == Role::kInitiator) {
    return go_down("the peer refused: " + said_by_peer(payload));
  }
  if (header.kind != FrameKind::kHello) return go_down("the peer's first frame is not a hello");
  auto hello = decode_hello(payload);
  if (role_ == Role::kInitiator) {
    if (!hello) return go_down(hello.error().message);
    if (options_.peer_is_node && hello->node != options_.peer) {
      return go_down("this address is node '" + hello->node + "', not '" + options_.peer + "'");
    }
  } else {
    if (!hello) return refuse(hello.error().message);
    if (!hello->peer.empty() && hello->peer != options_.node) {
      return refuse("this is node '" + options_.node + "', not '" + hello->peer + "'");
    }
  }
  drop_useless_cores(*hello);
  peer_ = std::move(*hello);
  if (role_ == Role::kAcceptor) {
    if (const auto taken = events_.on_hello(*this); !taken) return refuse(taken.error().message);
    say_hello();
  }
  state_ = State::kUp;
  timer_->set(reactor_.now() + options_.keepalive_interval);
  events_.on_session_up(*this);
}

void Session::on_frame(const FrameHeader& header, Bytes payload) {
  if (state_ == State::kHandshake) return take_first_frame(header, payload);
  if (state_ == State::kDown) return;
  switch (header.kind) {
    case FrameKind::kPing:
      lane_->send({.kind = FrameKind::kPong}, {});
      return;
    case FrameKind::kPong:
      return check_alive();  // sets the timer for the next ping
    case FrameKind::kHello:
    case FrameKind::kRefuse:
      return go_down("the peer sent a second hello");
    case FrameKind::kLaneOpen:
    case FrameKind::kLaneAccept:
    case FrameKind::kLaneReady:
    case FrameKind::kLaneUp:
    case FrameKind::kLaneClose:
      return on_lane_frame(header, payload);
    case FrameKind::kCostOpen:
    case FrameKind::kCostAccept:
    case FrameKind::kCostClose:
      return on_cost_frame(header, payload);
    default:
      events_.on_frame(*this, header, payload);
  }
}

void Session::on_lane_frame(const FrameHeader& header, Bytes payload) {
  if (lanes_ != nullptr) return lanes_->on_lane_frame(header, payload);
  if (header.kind != FrameKind::kLaneOpen) return;
  constexpr std::string_view kNone = "this node does not use RDMA";
  lane_->send({.kind = FrameKind::kLaneClose, .stream = header.stream},
              {std::as_bytes(std::span(kNone))});
}

void Session::on_cost_frame(const FrameHeader& header, Bytes payload) {
  if (costs_ != nullptr) return costs_->on_cost_frame(header, payload);
  if (header.kind != FrameKind::kCostOpen) return;
  constexpr std::string_view kNone = "this node does not use RDMA, so it cannot be calibrated";
  lane_->send({.kind = FrameKind::kCostClose, .stream = header.stream},
              {std::as_bytes(std::span(kNone))});
}

void Session::on_down(const std::string& reason) { go_down(reason); }

void Session::go_down(const std::string& reason) {
  if (state_ == State::kDown) return;
  state_ = State::kDown;
  timer_->cancel();
  events_.on_session_down(*this, reason);
}

void Session::check_alive() {
  const TimePoint now = reactor_.now();
  if (state_ == State::kHandshake) return go_down("the peer sent no hello within the time-out");
  if (waits_for_pong()) {
    // The timer is set for the end of the time-out, but can have been set before the ping.
    const TimePoint end = pinged_ + options_.keepalive_timeout - options_.keepalive_interval;
    if (now < end) return timer_->set(end);
    return go_down("the peer sent nothing within limits.keepalive_timeout" +
                   std::string(carries_ ? "" : ", which is longer without streams"));
  }
  const TimePoint ping = lane_->last_received() + keepalive_interval();
  if (now < ping) return timer_->set(ping);
  lane_->send({.kind = FrameKind::kPing}, {});
  pinged_ = now;
  timer_->set(now + options_.keepalive_timeout - options_.keepalive_interval);
}

void Session::set_carries_streams(bool streams) {
  if (std::exchange(carries_, streams) == streams || !streams) return;
  if (state_ != State::kUp || waits_for_pong()) return;
  // The timer can be set for later, because the session carried no streams.
  timer_->set(std::max(reactor_.now(), lane_->last_received() + keepalive_interval()));
}

}  // namespace hat::engine
