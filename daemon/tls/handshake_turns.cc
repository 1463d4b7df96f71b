// SPDX-License-Identifier: Apache-2.0
#include "daemon/tls/handshake_turns.h"

#include <algorithm>

namespace hat {

HandshakeTurns::HandshakeTurns(Reactor& reactor)
    : reactor_(reactor), timer_(reactor.timer([this] { notify_next(); })) {}

bool HandshakeTurns::take(Waiter& waiter) {
  const bool nobody_waits = waiting_.empty() && told_ == nullptr;
  if (told_ == &waiter || (nobody_waits && reactor_.now() >= free_at_)) return true;
  if (std::ranges::find(waiting_, &waiter) == waiting_.end()) waiting_.push_back(&waiter);
  set_timer();
  return false;
}

void HandshakeTurns::took(Duration time) {
  if (time >= kFree) free_at_ = reactor_.now() + (1 + kPauses) * time;
}

void HandshakeTurns::leave(const Waiter& waiter) {
  std::erase(waiting_, &waiter);
  if (told_ == &waiter) told_ = nullptr;
}

void HandshakeTurns::notify_next() {
  if (waiting_.empty()) return;
  Waiter* const next = waiting_.front();
  waiting_.pop_front();
  told_ = next;
  next->on_turn();
  told_ = nullptr;
  set_timer();
}

void HandshakeTurns::set_timer() {
  if (!waiting_.empty()) timer_->set(std::max(free_at_, reactor_.now()));
}

}  // namespace hat
