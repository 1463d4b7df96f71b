// SPDX-License-Identifier: Apache-2.0
#include "daemon/proxy/deadlines.h"

#include <algorithm>
#include <bit>

namespace hat {

Duration coarse(std::chrono::milliseconds timeout) {
  constexpr int kSignificantBits = 3;
  const auto ms = static_cast<uint64_t>(timeout.count());
  const int dropped = std::max(0, static_cast<int>(std::bit_width(ms)) - kSignificantBits);
  const uint64_t step = uint64_t{1} << dropped;
  return std::chrono::milliseconds((ms + step - 1) / step * step);
}

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
