// SPDX-License-Identifier: Apache-2.0
// engine/priority_shares.h: shares something that one user at a time can have (a lane, a connection
// to a server) among the priorities of the calls that wait for it.
//
// While several priorities wait, they get parts of 16 (high), 4 (normal) and 1 (low), so that no
// priority waits for ever. A priority that begins to wait is served first if it is higher than the
// others that wait, unless it has had more than its part before. A priority that does not wait
// saves nothing for later.
//
// Each priority has a mark, and the waiting priority with the lowest mark is next. Each use moves
// the mark of its priority on, by an amount that is smaller the larger the part of the priority is.
// Source: start-time fair queueing (Goyal, Vin and Cheng, SIGCOMM 1996).
//
// Thread   one thread at a time.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "config/hints.h"

namespace hat::engine {

class PriorityShares {
 public:
  static constexpr size_t kCount = 3;
  static constexpr size_t index(Priority priority) { return static_cast<size_t>(priority); }

  // Records that `priority`, of which nothing waited, waits from now on.
  void begin_to_wait(Priority priority) {
    uint64_t& mark = marks_[index(priority)];
    mark = std::max(mark, served_);
  }
  // Returns the priority that is next. `waits` says of a priority whether it waits; at least one
  // must.
  template <class Waits>
  Priority next(Waits waits) const {
    const Priority* best = nullptr;
    for (const Priority& one : kHighestFirst) {
      if (!waits(one)) continue;
      if (best == nullptr || marks_[index(one)] < marks_[index(*best)]) best = &one;
    }
    CHECK(best != nullptr) << "no priority waits";
    return *best;
  }
  // Records that `priority`, which next() returned, is served now.
  void serve(Priority priority) { served_ = marks_[index(priority)]; }
  // Records that `priority` has used `amount`, in a unit that is the same for all priorities.
  void use(Priority priority, uint64_t amount) {
    marks_[index(priority)] += amount * (parts(Priority::kHigh) / parts(priority));
  }

 private:
  static constexpr std::array<Priority, kCount> kHighestFirst = {Priority::kHigh, Priority::kNormal,
                                                                 Priority::kLow};
  // Returns how much a priority gets, compared with the others that wait.
  static constexpr uint64_t parts(Priority priority) {
    constexpr std::array<uint64_t, kCount> kParts = {1, 4, 16};  // by Priority
    return kParts[index(priority)];
  }

  std::array<uint64_t, kCount> marks_{};  // by Priority
  uint64_t served_ = 0;                   // the mark of the priority that was served last
};

}  // namespace hat::engine
