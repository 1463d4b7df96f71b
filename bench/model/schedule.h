// SPDX-License-Identifier: Apache-2.0
// bench/model/schedule.h: virtual time: events that run one after another, in the order of their
// times. Events of the same time run in the order in which they were scheduled.
//
// Thread   one thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

namespace hat::model {

using Time = std::chrono::nanoseconds;  // since the beginning of the model, or a duration

class Schedule {
 public:
  using Event = std::function<void()>;

  Time now() const { return now_; }
  // Schedules an event; a time in the past means now.
  void at(Time when, Event event) {
    events_.push({std::max(when, now_), ++scheduled_, std::move(event)});
  }
  // Runs all events up to the time `until`, and then sets the time to `until`.
  void run_until(Time until) {
    while (!events_.empty() && events_.top().when <= until) {
      now_ = events_.top().when;
      const Event event = std::move(const_cast<Entry&>(events_.top()).event);
      events_.pop();
      event();
    }
    now_ = until;
  }

 private:
  struct Entry {
    Time when;
    uint64_t number;
    Event event;
    bool operator<(const Entry& other) const {  // the earliest entry is at the top of the queue
      return std::tie(when, number) > std::tie(other.when, other.number);
    }
  };
  Time now_{};
  uint64_t scheduled_ = 0;
  std::priority_queue<Entry> events_;
};

}  // namespace hat::model
