// SPDX-License-Identifier: Apache-2.0
#include "daemon/proxy/deadlines.h"

#include <algorithm>

namespace hat {

Deadlines::List::List() { next_ = previous_ = this; }

bool Deadlines::List::empty() const { return next_ == this; }

Deadline& Deadlines::List::front() { return *next_; }

void Deadlines::List::push_back(Deadline& deadline) {
  deadline.previous_ = previous_;
  deadline.next_ = this;
  previous_->next_ = &deadline;
  previous_ = &deadline;
}

Deadlines::Deadlines(Reactor& reactor)
    : reactor_(reactor), timer_(reactor.timer([this] { expire(); })) {}

Deadlines::~Deadlines() {
  for (auto& [timeout, list] : lists_) {
    while (!list.empty()) list.front().end();
  }
}

void Deadlines::set(Deadline& deadline, Duration timeout) {
  deadline.end();
  deadline.when_ = reactor_.now() + timeout;
  lists_[timeout].push_back(deadline);
  if (deadline.when_ < armed_) arm(deadline.when_);
}

void Deadlines::arm(TimePoint when) {
  armed_ = when;
  timer_->set(when);
}

void Deadlines::expire() {
  armed_ = TimePoint::max();
  const TimePoint now = reactor_.now();
  TimePoint earliest = TimePoint::max();
  for (auto& [timeout, list] : lists_) {
    while (!list.empty() && list.front().when_ <= now) {
      Deadline& deadline = list.front();
      deadline.end();
      deadline.on_deadline();
    }
    if (!list.empty()) earliest = std::min(earliest, list.front().when_);
  }
  if (earliest < armed_) arm(earliest);
}

}  // namespace hat
