// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/deadlines.h: time limits of calls, of connecting and of waiting for a link.
//
// A Deadlines object has one list of deadlines for each length of time-out. Deadlines in one list
// expire in the order in which they were set, so a new deadline is appended to its list. Setting or
// ending a deadline therefore takes the same time however many deadlines are set. Only the first
// deadline with a new length allocates memory. One reactor timer serves all lists. The lists are
// never deleted, so pass a time-out that a client has chosen through coarse().
//
// Thread   the reactor's.
#pragma once

#include <map>
#include <memory>

#include "base/reactor.h"

namespace hat {

class Deadlines;

// Returns `timeout`, rounded up to a number of milliseconds with three significant bits, so to at
// most 5/4 of it. So there are few lengths: 83 of up to an hour.
Duration coarse(std::chrono::milliseconds timeout);

// A base class for objects that have a deadline; the destructor ends the deadline.
class Deadline {
 public:
  Deadline() = default;
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;
  virtual ~Deadline() { end(); }

  // Runs after the deadline has passed. The deadline is no longer set then, and can be set again.
  virtual void on_deadline() = 0;

  // Returns true if the deadline is set.
  bool set() const { return next_ != nullptr; }
  // Unsets the deadline, so that on_deadline() does not run. Does nothing if it is not set.
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

  // Sets `deadline` to `timeout` from now, in place of its earlier time if it is set.
  void set(Deadline& deadline, Duration timeout);

 private:
  struct List : Deadline {  // a circular linked list whose sentinel is the List object itself
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
