// SPDX-License-Identifier: Apache-2.0
// daemon/routing/advice.h: proposes changes of a function's hints if the calls of the last minutes
// contradict them. Pure: no I/O and no state. docs/hints.md lists the rules for operators.
//
// A rule looks at one hint and one side. It proposes nothing unless enough calls were seen, and
// unless the change has an effect on this host: a hint that changes nothing here stays.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "config/hints.h"
#include "daemon/metrics/observations.h"
#include "daemon/routing/routing_table.h"
#include "engine/plan/planner.h"

namespace hat {

// A change of one hint in one group of a function in the manifest.
struct HintChange {
  std::string group;  // the group's key in the manifest: "hint", "c_hint" or "s_hint"
  std::string key;
  std::optional<std::string> from;  // the value that holds now; nullopt if no group has the hint
  std::optional<std::string> to;    // nullopt if the hint should be removed from the group

  friend bool operator==(const HintChange&, const HintChange&) = default;
};

struct Proposal {
  Side side = Side::kClient;  // the side for which the change counts; the client's if both
  HintChange change;
  std::string evidence;  // what was seen, with numbers
  std::string gain;      // what the change changes in how this host carries the calls
};

// The calls and the samples that a rule needs before it proposes anything.
inline constexpr uint64_t kAdviceCalls = 200;
inline constexpr uint64_t kAdviceSamples = 20;  // of calls in flight: 5 s at least

// Returns the proposals for one function, in an order in which each assumes that the ones before it
// are applied. `seen` has the observations of both sides on this node, by enum Side; a side on
// which this node did not carry calls of the function is empty. `host` has the facts about this
// node. A function that no manifest lists gets no proposals.
std::vector<Proposal> advise(const Route& route, const std::array<Observation, 2>& seen,
                             const engine::HostFacts& host);

}  // namespace hat
