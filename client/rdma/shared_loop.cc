// SPDX-License-Identifier: Apache-2.0
#include "client/rdma/shared_loop.h"

#include <utility>

#include "base/check.h"

namespace hatrpc::rdma {

SharedLoop::SharedLoop() : deadline_timer_(reactor_.timer([] {})) {
  reactor_.add_iteration_events(*this);
}

SharedLoop::~SharedLoop() {
  DCHECK(leader_ == Leader::kNone) << "a thread runs the loop that is being destroyed";
  reactor_.remove_iteration_events(*this);
}

// --- Who leads ---

void SharedLoop::lead_as(Leader leader) {
  DCHECK(leader_ == Leader::kNone);
  leader_ = leader;
  if (leader == Leader::kApplication) turns_.fetch_add(1, std::memory_order_relaxed);
  reactor_.enter();
}

bool SharedLoop::begin_to_lead(Leader as) {
  {
    const std::lock_guard lock(mutex_);
    if (leader_ == Leader::kNone && !is_wanted()) {
      lead_as(as);
      return true;
    }
    if (as == Leader::kKeeper || leader_ != Leader::kKeeper) return false;
  }
  take_lead();
  return true;
}

void SharedLoop::take_lead() {
  std::unique_lock lock(mutex_);
  wanted_.fetch_add(1, std::memory_order_relaxed);
  if (leader_ != Leader::kNone) make_leader_leave();
  vacant_.wait(lock, [this] { return leader_ == Leader::kNone; });
  wanted_.fetch_sub(1, std::memory_order_relaxed);
  lead_as(Leader::kApplication);
}

// Requires that this thread holds the lock.
void SharedLoop::make_leader_leave() {
  if (std::exchange(is_asleep_, false)) reactor_.wake();
}

void SharedLoop::give_lead() {
  deadline_ = kNever;
  std::unique_lock lock(mutex_);
  // No other thread handles the news that came while this thread led.
  while (!noted_.empty() || !active_.empty()) {
    lock.unlock();
    reactor_.end_iteration();
    lock.lock();
  }
  is_asleep_ = false;
  reactor_.leave();
  leader_ = Leader::kNone;
  if (is_wanted()) {
    vacant_.notify_one();
  } else {
    offer_lead();
  }
}

// Requires that this thread holds the lock.
void SharedLoop::offer_lead() {
  if (followers_.empty()) return;
  Waiter& next = *followers_.front();
  next.woken_ = true;
  next.wake_.notify_one();
}

// --- Following ---

// Returns false if this thread may lead.
bool SharedLoop::join(Waiter& waiter) {
  const std::lock_guard lock(mutex_);
  if (leader_ == Leader::kNone && !is_wanted()) return false;
  waiter.woken_ = false;
  followers_.push_back(&waiter);
  return true;
}

bool SharedLoop::sleep(Waiter& waiter, hat::TimePoint deadline) {
  std::unique_lock lock(mutex_);
  const auto is_woken = [&waiter] { return waiter.woken_; };
  if (deadline != kNever) return waiter.wake_.wait_until(lock, deadline, is_woken);
  waiter.wake_.wait(lock, is_woken);
  return true;
}

// If this thread `gives_up`, it does not accept an offer to lead, which may have come just now: the
// next follower gets it.
void SharedLoop::leave(Waiter& waiter, bool gives_up) {
  const std::lock_guard lock(mutex_);
  std::erase(followers_, &waiter);
  if (gives_up && leader_ == Leader::kNone && !is_wanted()) offer_lead();
}

void SharedLoop::wake(Waiter& waiter) {
  const std::lock_guard lock(mutex_);
  waiter.woken_ = true;
  waiter.wake_.notify_one();
}

// --- News ---

void SharedLoop::note(std::shared_ptr<LoopClient> client) {
  const std::lock_guard lock(mutex_);
  noted_.push_back(std::move(client));
  if (std::exchange(is_asleep_, false)) reactor_.wake();
}

void SharedLoop::flush() {
  {
    const std::lock_guard lock(mutex_);
    // A thread that leads handles all that was noted before it stops. A thread that waits in
    // take_lead() does so, too.
    if (leader_ != Leader::kNone || is_wanted()) return;
    lead_as(Leader::kApplication);
  }
  reactor_.end_iteration();
  give_lead();
}

void SharedLoop::tick() {
  if (!begin_to_lead(Leader::kKeeper)) return;
  reactor_.end_iteration();
  reactor_.poll_events();
  reactor_.end_iteration();
  give_lead();
}

void SharedLoop::on_iteration_end() {
  std::swap(called_, active_);
  {
    const std::lock_guard lock(mutex_);
    is_asleep_ = false;
    for (auto& client : noted_) called_.push_back(std::move(client));
    noted_.clear();
  }
  for (auto& client : called_) {
    if (client->on_news()) active_.push_back(std::move(client));
  }
  called_.clear();
}

bool SharedLoop::may_sleep() {
  if (!active_.empty()) return false;
  {
    const std::lock_guard lock(mutex_);
    if (!noted_.empty() || is_wanted()) return false;
    is_asleep_ = true;
  }
  if (deadline_ != kNever) deadline_timer_->set(deadline_);
  return true;
}

}  // namespace hatrpc::rdma
