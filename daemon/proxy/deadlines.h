// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/deadlines.h: time limits of calls, of connecting and of waiting for a link.
//
// Deadlines with the same time-out expire in the order in which they were set, so there is one list
// for each time-out. Setting or ending a deadline therefore takes the same time however many are
// set, and allocates memory only for the first deadline with a new time-out. One reactor timer
// serves all lists.
//
// Thread   the reactor's.
#pragma once

#include <map>
#include <memory>

#include "base/reactor.h"

namespace hat {

class Deadlines;

// A base class for what has a deadline; the destructor ends the deadline.
class Deadline {
 public:
  Deadline() = default;
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;
  virtual ~Deadline() { end(); }

  // Runs when the time has passed. The deadline has ended by then and may be set again.
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

  // Sets the deadline to `timeout` from now; replaces an earlier setting.
  void set(Deadline& deadline, Duration timeout);

 private:
  struct List : Deadline {  // a circular list with this object as its sentinel
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
