// SPDX-License-Identifier: Apache-2.0
// client/ring/core_history.h: remembers when a thread of this process last ran on each core. With
// this, a thread whose yield took long learns whether its own process used the core in that time.
//
// Thread   Any thread may call record().
#pragma once

#include <sched.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace hatrpc::ring {

class CoreHistory {
 public:
  // Records that the calling thread runs on its core at the time `now`. Returns how much earlier
  // the last record on this core was made, by any thread of the process. The result is very large
  // if there is no earlier record.
  std::chrono::nanoseconds record(std::chrono::steady_clock::time_point now) {
    // With the C library of Debian 12, sched_getcpu() only reads memory of the thread (rseq).
    std::atomic<int64_t>& last = cores_[static_cast<size_t>(sched_getcpu()) % kCores].last_ns;
    const int64_t now_ns = std::chrono::nanoseconds(now.time_since_epoch()).count();
    const int64_t before = last.load(std::memory_order_relaxed);
    last.store(now_ns, std::memory_order_relaxed);
    return std::chrono::nanoseconds(now_ns - before);
  }

 private:
  // On a machine with more cores than this, several cores share an entry.
  static constexpr size_t kCores = 256;
  struct alignas(64) Core {
    std::atomic<int64_t> last_ns{0};
  };
  Core cores_[kCores];
};

}  // namespace hatrpc::ring
