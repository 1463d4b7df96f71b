// SPDX-License-Identifier: Apache-2.0
#include "kv/store/group_commit.h"

#include <algorithm>
#include <vector>

#include "kv/limits.h"

namespace hat {

void GroupCommit::run(Write& write) noexcept {
  for (const Change& change : write.changes) write.bytes += change.key.size() + change.value.size();
  std::unique_lock lock(mutex_);
  write.leaves_by = std::chrono::steady_clock::now() + write.patience;
  queue_.push_back(&write);
  arrived_.notify_one();
  write.turn.wait(lock, [&] { return write.done || queue_.front() == &write; });
  if (write.done) return;

  wait_for_more(lock);
  std::vector<Write*> group;
  size_t bytes = 0;
  for (Write* next : queue_) {
    bytes += next->bytes;
    if (!group.empty() && (group.size() == kGroupWritesMax || bytes > kGroupBytesMax)) break;
    group.push_back(next);
  }
  lock.unlock();
  commit_(group);
  lock.lock();

  seen_last_time_ = queue_.size();
  queue_.erase(queue_.begin(), queue_.begin() + static_cast<ptrdiff_t>(group.size()));
  for (Write* ended : group) {
    ended->done = true;
    // Notify while the lock is held, because the waiting thread can destroy `*ended` as soon as it
    // gets the lock.
    if (ended != &write) ended->turn.notify_one();
  }
  if (!queue_.empty()) queue_.front()->turn.notify_one();
}

void GroupCommit::wait_for_more(std::unique_lock<std::mutex>& lock) {
  for (;;) {
    if (queue_.size() >= std::min(seen_last_time_, kGroupWritesMax)) return;
    const auto first_to_leave = *std::ranges::min_element(queue_, {}, &Write::leaves_by);
    if (first_to_leave->leaves_by <= std::chrono::steady_clock::now()) return;
    arrived_.wait_until(lock, first_to_leave->leaves_by);
  }
}

}  // namespace hat
