// SPDX-License-Identifier: Apache-2.0
// daemon/tls/handshake_turns.h: handshakes that others begin, one after another and with pauses, so
// that a flood of them takes a quarter of a worker's time at most, and never more than one step of
// one handshake between two looks at calls.
//
// A step is what a handshake does with what has come: about half a millisecond of signing and
// verifying. After one, all wait three times as long as it took; who asked first is told first.
//
// Bounds   one entry for each stream that waits: 256, as the worker bounds links in a handshake.
// Thread   the reactor's.
#pragma once

#include <deque>
#include <memory>

#include "base/reactor.h"

namespace hat {

class HandshakeTurns {
 public:
  // Steps that take less are free: they found nothing to do.
  static constexpr Duration kFree = std::chrono::microseconds(20);
  static constexpr int kPauses = 3;

  class Waiter {
   public:
    virtual void on_turn() = 0;  // take() says yes now; this may destroy the waiter

   protected:
    ~Waiter() = default;
  };

  explicit HandshakeTurns(Reactor& reactor);

  // True: it may do a step now, and says then what that took. False: it is told when it may.
  bool take(Waiter& waiter);
  void took(Duration time);
  void leave(const Waiter& waiter);  // it is told nothing more

 private:
  void tell_next();
  void set_timer();

  Reactor& reactor_;
  const std::unique_ptr<Timer> timer_;
  std::deque<Waiter*> waiting_;
  const Waiter* told_ = nullptr;  // whose turn it is
  TimePoint free_at_{};
};

}  // namespace hat
