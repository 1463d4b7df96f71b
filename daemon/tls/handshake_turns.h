// SPDX-License-Identifier: Apache-2.0
// daemon/tls/handshake_turns.h: limits the time that a worker spends on handshakes that peers
// begin: they take turns, with pauses.
//
// A handshake step processes the bytes that have arrived, and takes about half a millisecond of
// signing and verifying. In an event-loop iteration at most one step of one handshake runs. After a
// step, all handshakes pause for three times the step's duration, so that a flood of handshakes
// takes at most a quarter of a worker's time. Turns are in the order of the requests.
//
// Bounds   One entry for each stream that waits: at most 256, because a worker accepts no more
//          links that are in a handshake.
// Thread   Only the reactor's thread uses this class.
#pragma once

#include <deque>
#include <memory>

#include "base/reactor.h"

namespace hat {

class HandshakeTurns {
 public:
  // A step that takes less time than this found nothing to do; no pause follows it.
  static constexpr Duration kFree = std::chrono::microseconds(20);
  static constexpr int kPauses = 3;  // a pause is this many times as long as the step before it

  class Waiter {
   public:
    // Gives the waiter its turn: until on_turn() returns, take() returns true for this waiter. The
    // call can destroy the waiter.
    virtual void on_turn() = 0;

   protected:
    ~Waiter() = default;
  };

  explicit HandshakeTurns(Reactor& reactor);

  // Returns true if `waiter` may run a step now; the waiter must then call took() with the step's
  // duration. Returns false if the waiter must wait until on_turn() is called.
  bool take(Waiter& waiter);
  void took(Duration time);
  // Removes `waiter` from the queue; on_turn() is not called for it any more.
  void leave(const Waiter& waiter);

 private:
  void notify_next();
  void set_timer();

  Reactor& reactor_;
  const std::unique_ptr<Timer> timer_;
  std::deque<Waiter*> waiting_;
  const Waiter* told_ = nullptr;  // the waiter whose turn it is
  TimePoint free_at_{};
};

}  // namespace hat
