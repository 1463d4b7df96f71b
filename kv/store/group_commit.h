// SPDX-License-Identifier: Apache-2.0
// kv/store/group_commit.h: gathers writes that wait at the same time into one commit.
//
// LMDB has one write transaction at a time, and a durable one costs waits for the disk. Whoever
// stands first in the queue commits for all who stand there with it, and wakes them: no thread of
// its own, so that a write that is alone is not handed over to anybody.
//
//   A, B, C come ──▶ A begins, changes for A, B, C, commits ──▶ A, B, C are answered
//   D, E come meanwhile, and are the next group; D commits it
//
// A write has patience (a hint: throughput, res_util) or none (latency). Where all that stand there
// have some, the first waits for more: until as many have come as were seen last time (those of the
// last group, and those who came during its commit), or the patience of one of them ends. A writer
// that is alone so waits with its first write after a larger group, and not again.
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

// One caller's changes, all or none of which are made.
struct Write {
  std::span<const Change> changes;
  std::chrono::microseconds patience{0};

  // Set by the commit.
  Result<void> result;
  size_t removed = 0;  // keys that were there

  // GroupCommit's.
  size_t bytes = 0;
  std::chrono::steady_clock::time_point leaves_by;
  bool done = false;
  std::condition_variable turn;
};

class GroupCommit {
 public:
  // Sets the result of each write. Called by one thread at a time.
  using Commit = std::function<void(std::span<Write* const> group)>;

  explicit GroupCommit(Commit commit) : commit_(std::move(commit)) {}

  // Returns once the write was committed or refused. Without memory the process ends: others wait
  // in the queue with views of their callers' bytes.
  void run(Write& write) noexcept;

  // Writes that wait for a commit, or are being committed.
  size_t waiting() const {
    const std::scoped_lock lock(mutex_);
    return queue_.size();
  }

 private:
  void wait_for_more(std::unique_lock<std::mutex>& lock);

  Commit commit_;
  mutable std::mutex mutex_;
  std::deque<Write*> queue_;  // the first one commits
  std::condition_variable arrived_;
  size_t seen_last_time_ = 0;
};

}  // namespace hat
