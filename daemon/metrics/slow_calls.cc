// SPDX-License-Identifier: Apache-2.0
#include "daemon/metrics/slow_calls.h"

#include <algorithm>
#include <utility>

namespace hat {
namespace {

bool is_faster(const CallRecord& one, const CallRecord& other) { return one.took < other.took; }

}  // namespace

void SlowCalls::begin_window(TimePoint now) {
  for (CallRecord& call : current_) call.counters->slow_floor = {};
  floor_ = {};
  std::swap(earlier_, current_);
  current_.clear();
  if (now >= window_end_ + kWindow) earlier_.clear();
  window_end_ = now + kWindow;
}

// Returns the place that `call` can have, which may have a faster call; null if there is none.
CallRecord* SlowCalls::place_for(const CallRecord& call) {
  CallRecord* fastest_own = nullptr;
  size_t own = 0;
  for (CallRecord& one : current_) {
    if (one.counters != call.counters) continue;
    ++own;
    if (fastest_own == nullptr || is_faster(one, *fastest_own)) fastest_own = &one;
  }
  CallRecord* place = fastest_own;
  if (own < kPerFunction) {
    if (current_.size() < kMost) return &current_.emplace_back();
    place = &*std::ranges::min_element(current_, is_faster);
  }
  return is_faster(*place, call) ? place : nullptr;
}

// Makes wants() return false for calls that are too fast to be kept.
void SlowCalls::set_floors(FunctionCounters& counters) {
  size_t own = 0;
  Duration least = Duration::max();
  for (const CallRecord& one : current_) {
    if (one.counters != &counters) continue;
    ++own;
    least = std::min(least, one.took);
  }
  if (own == kPerFunction) counters.slow_floor = least;
  if (current_.size() == kMost) floor_ = std::ranges::min_element(current_, is_faster)->took;
}

void SlowCalls::add(CallRecord call, TimePoint now) {
  if (now >= window_end_) begin_window(now);
  CallRecord* const place = place_for(call);
  if (place == nullptr) return;
  // The function that loses a place has fewer than kPerFunction now, unless it gets the place.
  if (place->counters != nullptr) place->counters->slow_floor = {};
  FunctionCounters& counters = *call.counters;
  *place = std::move(call);
  set_floors(counters);
}

std::vector<CallRecord> SlowCalls::all(TimePoint now) const {
  std::vector<CallRecord> calls;
  if (now < window_end_) calls = earlier_;
  if (now < window_end_ + kWindow) calls.insert(calls.end(), current_.begin(), current_.end());
  return calls;
}

}  // namespace hat
