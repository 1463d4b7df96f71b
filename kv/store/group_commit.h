// SPDX-License-Identifier: Apache-2.0
// kv/store/group_commit.h: combines writes that wait at the same time into one commit.
//
// LMDB allows one write transaction at a time, and a durable one waits for the disk. The thread
// whose write is first in the queue commits all writes that are in the queue at that moment (up to
// the limits in kv/limits.h), and wakes their threads. There is no separate commit thread, so a
// single write needs no switch to another thread.
//
//   A, B, C arrive ──▶ A begins, changes for A, B, C, commits ──▶ A, B, C are answered
//   D, E arrive meanwhile and form the next group; D commits it
//
// A write has patience (by hint: throughput, res_util) or none (latency). If all writes in the
// queue have patience, the first one waits for more. It stops waiting when the queue is as long as
// it was at the end of the last commit (the last group, and the writes that arrived during its
// commit), or when the patience of any write in the queue ends. A writer that is alone therefore
// waits only with its first write after a larger group.
//
// Thread   any.
// Source   LevelDB's writers' queue; PostgreSQL's commit_delay and commit_siblings.
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

// One caller's changes. The commit makes all of them or none.
struct Write {
  std::span<const Change> changes;
  std::chrono::microseconds patience{0};

  // The commit sets these.
  Result<void> result;
  size_t removed = 0;  // number of removed keys that existed

  // GroupCommit uses these.
  size_t bytes = 0;
  std::chrono::steady_clock::time_point leaves_by;
  bool done = false;
  std::condition_variable turn;
};

class GroupCommit {
 public:
  // Sets the result of each write. GroupCommit calls it from one thread at a time.
  using Commit = std::function<void(std::span<Write* const> group)>;

  explicit GroupCommit(Commit commit) : commit_(std::move(commit)) {}

  // Returns once the write was committed or refused. If memory runs out, the process ends
  // (noexcept), since other threads wait in the queue with views of their callers' bytes.
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
  size_t seen_last_time_ = 0;
};

}  // namespace hat
