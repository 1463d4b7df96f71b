// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/inbound/server_binding.h: whether a stream must use one particular connection to the
// server, as a kBound frame has announced to the client's side, and whether this connection can
// move to another stream.
//
//   kAny ────────▶ kBound ──▶ kEnded; an opaque stream changes from kAny to kEnded
//   kAny ──▶ kAttaching ──▶ kBound ──▶ kDetaching ──▶ kPinned ──▶ kEnded
//                                           └────────────────────▶ kEnded, or the stream is gone
//
// Thread   the worker's.
#pragma once

#include <cstdint>

#include "base/check.h"
#include "base/reactor.h"
#include "base/transitions.h"
#include "engine/frame.h"

namespace hat {

class ServerBinding {
 public:
  enum class State : uint8_t {
    kAny,        // the stream has no connection, or can use any connection to the server
    kAttaching,  // the stream waits for the connection that another stream had before
    kBound,      // the stream must use this connection; a kBound frame was sent to the peer
    kDetaching,  // the peer has asked to move the bound connection to another stream
    kPinned,     // the stream must use this connection, which cannot move to another stream
    kEnded,      // the connection has ended, a kEnd frame was sent, and no other connection follows
  };

  State state() const { return state_; }
  bool is(State state) const { return state_ == state; }
  bool is_bound() const { return state_ >= State::kBound && state_ <= State::kPinned; }
  // Returns true if the connection can still move to another stream.
  bool can_move() const { return state_ >= State::kAttaching && state_ <= State::kDetaching; }

  void bind() { change_to(State::kBound); }
  void pin() { change_to(State::kPinned); }
  void end() { change_to(State::kEnded); }
  // Begins to wait, until the time `until`, for the connection that `token` names.
  void begin_attach(const engine::ConnectionToken& token, TimePoint until) {
    change_to(State::kAttaching);
    token_ = token;
    moves_until_ = until;
  }
  // Begins to move the connection to another stream; the move must be possible before `until`.
  void begin_detach(TimePoint until) {
    change_to(State::kDetaching);
    moves_until_ = until;
  }
  const engine::ConnectionToken& token() const { return token_; }  // only in kAttaching
  TimePoint moves_until() const { return moves_until_; }           // only in kAttaching, kDetaching

 private:
  void change_to(State next) {
    static constexpr Transition<State> kTransitions[] = {
        {State::kAny, State::kAttaching},    {State::kAny, State::kBound},
        {State::kAny, State::kEnded},        {State::kAttaching, State::kBound},
        {State::kBound, State::kDetaching},  {State::kBound, State::kEnded},
        {State::kDetaching, State::kPinned}, {State::kDetaching, State::kEnded},
        {State::kPinned, State::kEnded},
    };
    DCHECK(is_listed(kTransitions, state_, next))
        << "from " << static_cast<int>(state_) << " to " << static_cast<int>(next);
    state_ = next;
  }

  State state_ = State::kAny;
  engine::ConnectionToken token_{};
  TimePoint moves_until_{};
};

}  // namespace hat
