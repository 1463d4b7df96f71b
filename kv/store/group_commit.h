// SPDX-License-Identifier: Apache-2.0
// kv/store/group_commit.h: combines writes that wait at the same time into one commit.
//
// LMDB allows one write transaction at a time, and a durable commit waits for the disk. Writes wait
// in a queue. The thread of the first write commits all writes in the queue (up to the limits in
// kv/limits.h), and wakes the threads of these writes. There is no separate commit thread, so that
// a single write needs no switch to another thread.
//
//   A, B, C arrive ──▶ A's thread makes and commits the changes of A, B, C ──▶ all three return
//   D, E arrive during this commit and form the next group, which D's thread commits
//
// The patience of a write is the time that it can wait for other writes; a hint sets it (latency:
// 0; throughput and res_util: more). The first write waits for more writes until the queue is as
// long as it was at the end of the last commit (the last group, and the writes that arrived during
// its commit), or until the patience of any write in the queue ends. So a single writer waits only
// with its first write after a larger group.
//
// Thread   Any thread may call run().
// Source   LevelDB's queue of writers; PostgreSQL's commit_delay and commit_siblings.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <span>
#include <string_view>

#include "base/result.h"

namespace hat {

struct Change {
  enum class Kind : uint8_t { kPut, kRemove };
  Kind kind = Kind::kPut;
  std::string_view key;
  std::string_view value;
};

// The changes of one caller. A commit makes all of these changes or none.
struct Write {
  std::span<const Change> changes;
  std::chrono::microseconds patience{0};

  // The results, which the commit sets.
  Result<void> result;
  size_t removed = 0;  // number of removed keys that existed

  // Members that only GroupCommit uses.
  size_t bytes = 0;
  std::chrono::steady_clock::time_point leaves_by;
  bool done = false;
  std::condition_variable turn;
};

class GroupCommit {
 public:
  // A function that commits a group of writes and sets the result of each write. GroupCommit calls
  // it from one thread at a time.
  using Commit = std::function<void(std::span<Write* const> group)>;

  explicit GroupCommit(Commit commit) : commit_(std::move(commit)) {}

  // Queues the write, and returns after the write is committed or refused. The function is noexcept
  // because other threads wait in the queue: if memory runs out, the process ends.
  void run(Write& write) noexcept;

  // Returns the number of writes that wait for a commit or are being committed.
  size_t waiting() const {
    const std::scoped_lock lock(mutex_);
    return queue_.size();
  }

 private:
  void wait_for_more(std::unique_lock<std::mutex>& lock);

  Commit commit_;
  mutable std::mutex mutex_;
  std::deque<Write*> queue_;  // the thread of the first write commits
  std::condition_variable arrived_;
  size_t seen_last_time_ = 0;  // length of the queue at the end of the last commit
};

}  // namespace hat
