// SPDX-License-Identifier: Apache-2.0
// daemon/metrics/slow_calls.h: the slowest calls of local clients in the last minutes, with the
// parts of their time.
//
// A window is a minute. The calls of the current window and of the one before are kept: in each, at
// most kPerFunction calls of one function, and at most kMost in all, the slowest of those that
// ended in it.
//
// Cost     A call that is not kept costs a few comparisons.
// Memory   About 200 bytes for each kept call, in each worker.
// Thread   the worker's.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

#include "base/reactor.h"
#include "daemon/metrics/call_record.h"
#include "daemon/metrics/counters.h"

namespace hat {

class SlowCalls {
 public:
  static constexpr size_t kMost = 64;
  static constexpr size_t kPerFunction = 16;
  static constexpr Duration kWindow = std::chrono::minutes(1);

  // Returns true if a call that took `took` and ended at `now` may be kept; the caller should then
  // call add().
  bool wants(const FunctionCounters& counters, Duration took, TimePoint now) const {
    return now >= window_end_ || took > std::max(floor_, counters.slow_floor);
  }
  // Keeps the call, which ended at `now`, if it is one of the slowest.
  void add(CallRecord call, TimePoint now);
  // Returns the kept calls of the last one to two windows before `now`, in no order.
  std::vector<CallRecord> all(TimePoint now) const;

 private:
  void begin_window(TimePoint now);
  CallRecord* place_for(const CallRecord& call);
  void set_floors(FunctionCounters& counters);

  std::vector<CallRecord> earlier_;
  std::vector<CallRecord> current_;
  TimePoint window_end_{};
  Duration floor_{};  // only calls that took longer can be kept; 0 while there is space
};

}  // namespace hat
