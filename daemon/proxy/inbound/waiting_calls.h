// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/inbound/waiting_calls.h: the order in which calls that wait for a shared connection
// to the server get one.
//
// Calls of a higher priority get a larger part of the connections (engine/priority_shares.h). Calls
// of the same priority get connections in the order in which they came.
//
// Thread   the worker's.
#pragma once

#include <algorithm>
#include <array>
#include <list>

#include "config/hints.h"
#include "engine/priority_shares.h"

namespace hat {

class PooledCall;

class WaitingCalls {
 public:
  bool empty() const {
    return std::ranges::all_of(lists_, [](const auto& list) { return list.empty(); });
  }
  // Adds `call`, which the caller owns. It must not be in the queue.
  void add(PooledCall& call, Priority priority) {
    std::list<PooledCall*>& list = of(priority);
    if (list.empty()) shares_.begin_to_wait(priority);
    list.push_back(&call);
  }
  // Removes and returns the call that is next. There must be one.
  PooledCall& take_next() {
    const Priority priority = shares_.next([this](Priority one) { return !of(one).empty(); });
    shares_.serve(priority);
    shares_.use(priority, 1);
    PooledCall& call = *of(priority).front();
    of(priority).pop_front();
    return call;
  }
  // Removes `call`. Does nothing if it is not in the queue.
  void remove(PooledCall& call) {
    for (std::list<PooledCall*>& list : lists_) list.remove(&call);
  }

 private:
  std::list<PooledCall*>& of(Priority priority) {
    return lists_[engine::PriorityShares::index(priority)];
  }

  std::array<std::list<PooledCall*>, engine::PriorityShares::kCount> lists_;  // by Priority
  engine::PriorityShares shares_;
};

}  // namespace hat
