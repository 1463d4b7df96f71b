// SPDX-License-Identifier: Apache-2.0
// daemon/tls/handshake_turns.h: lets the handshakes that peers begin run one after another, with
// pauses.
//
// A flood of handshakes therefore takes at most a quarter of a worker's time, and at most one step
// of one handshake runs in an event-loop iteration. In a step, a handshake processes the bytes that
// have arrived: about half a millisecond of signing and verifying. After a step, all handshakes
// wait three times as long as the step took. They get their turns in the order in which they asked.
//
// Bounds   one entry for each stream that waits: 256, because the worker limits the links that are
//          in a handshake.
// Thread   the reactor's.
#pragma once

#include <deque>
#include <memory>

#include "base/reactor.h"

namespace hat {

class HandshakeTurns {
 public:
  // No pause follows a step that takes less than this: it found nothing to do.
  static constexpr Duration kFree = std::chrono::microseconds(20);
  static constexpr int kPauses = 3;

  class Waiter {
   public:
    // Gives the waiter its turn: take() returns true until this call returns. The call may destroy
    // the waiter.
    virtual void on_turn() = 0;

   protected:
    ~Waiter() = default;
  };

  explicit HandshakeTurns(Reactor& reactor);

  // Returns true if the waiter may do a step now; it then calls took() with the step's duration.
  // Returns false if the waiter must wait; on_turn() is called later.
  bool take(Waiter& waiter);
  void took(Duration time);
  // Removes a waiter, which gets no further on_turn().
  void leave(const Waiter& waiter);

 private:
  void tell_next();
  void set_timer();

  Reactor& reactor_;
  const std::unique_ptr<Timer> timer_;
  std::deque<Waiter*> waiting_;
  const Waiter* told_ = nullptr;  // the waiter whose turn it is
  TimePoint free_at_{};
};

}  // namespace hat
