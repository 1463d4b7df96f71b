// SPDX-License-Identifier: Apache-2.0
// base/transitions.h: lists the allowed transitions of a small state machine in a table, so that
// the code can assert that each change of state is allowed.
//
//   static constexpr Transition<State> kTransitions[] = {{State::kNone, State::kWaiting}, …};
//   DCHECK(is_listed(kTransitions, state_, next));
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace hat {

template <class State>
struct Transition {
  State from;
  State to;
  bool operator==(const Transition&) const = default;
};

template <class State, size_t kCount>
constexpr bool is_listed(const Transition<State> (&table)[kCount], State from, State to) {
  return std::ranges::find(table, Transition<State>{from, to}) != std::end(table);
}

}  // namespace hat
