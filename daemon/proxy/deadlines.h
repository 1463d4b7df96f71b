// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/deadlines.h: what must happen within a time, or else: calls, connects, waits for a
// link.
//
// Deadlines with the same time-out expire in the order they were set, so each time-out has a list
// and setting or ending a deadline is O(1), without memory. One reactor timer serves them all.
//
// Thread   the reactor's.
#pragma once

#include <map>
#include <memory>

#include "base/reactor.h"

namespace hat {

class Deadlines;

// Derive from it; ends with its object.
class Deadline {
 public:
  Deadline() = default;
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;
  virtual ~Deadline() { end(); }

  // The time passed. The deadline has ended and may be set again.
  virtual void on_deadline() = 0;

  bool set() const { return next_ != nullptr; }
  void end() {
    if (!set()) return;
    next_->previous_ = previous_;
    previous_->next_ = next_;
    next_ = previous_ = nullptr;
  }

 private:
  friend class Deadlines;
  Deadline* next_ = nullptr;
  Deadline* previous_ = nullptr;
  TimePoint when_{};
};

class Deadlines {
 public:
  explicit Deadlines(Reactor& reactor);
  ~Deadlines();

  // From now on; replaces an earlier setting.
  void set(Deadline& deadline, Duration timeout);

 private:
  struct List : Deadline {  // a ring through a sentinel
    List();
    void on_deadline() override {}
    bool empty() const;
    Deadline& front();
    void push_back(Deadline& deadline);
  };
  void expire();
  void arm(TimePoint when);

  Reactor& reactor_;
  std::map<Duration, List> lists_;
  TimePoint armed_ = TimePoint::max();
  std::unique_ptr<Timer> timer_;
};

}  // namespace hat
