// SPDX-License-Identifier: Apache-2.0
// client/ring/core_history.h: remembers when a thread of this process last returned from a yield on
// each core. With this, a thread whose yield took long learns whether other waiting threads of its
// process used the core in that time.
//
// Thread   Any thread may call record().
#pragma once

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace hatrpc::ring {

class CoreHistory {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  using Duration = std::chrono::nanoseconds;

  // Records that the calling thread runs on its core at the time `now`, after a yield that began at
  // `from`. Returns true if, since `from`, no thread was recorded on this core for longer than
  // `limit`. Then another process, or a thread of this process that computes, has kept the core.
  bool record(TimePoint from, TimePoint now, Duration limit) {
    // With the C library of Debian 12, sched_getcpu() only reads memory of the thread (rseq).
    Core& core = cores_[static_cast<size_t>(sched_getcpu()) % kCores];
    const int64_t from_ns = in_ns(from);
    const int64_t now_ns = in_ns(now);
    const int64_t last_ns = core.last_ns.load(std::memory_order_relaxed);
    core.last_ns.store(now_ns, std::memory_order_relaxed);
    if (now_ns - std::max(last_ns, from_ns) > limit.count()) {
      core.kept_ns.store(now_ns, std::memory_order_relaxed);
      return true;
    }
    return core.kept_ns.load(std::memory_order_relaxed) > from_ns;
  }

 private:
  // On a machine with more cores than this, several cores share an entry.
  static constexpr size_t kCores = 256;
  struct alignas(64) Core {
    std::atomic<int64_t> last_ns{0};  // when a thread was last recorded
    std::atomic<int64_t> kept_ns{0};  // when a thread was last recorded after something else had
                                      // kept the core
  };

  static int64_t in_ns(TimePoint time) { return Duration(time.time_since_epoch()).count(); }

  Core cores_[kCores];
};

}  // namespace hatrpc::ring
