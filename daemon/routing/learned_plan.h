// SPDX-License-Identifier: Apache-2.0
// daemon/routing/learned_plan.h: the choices among which hatrpcd learns for a function with the
// hint `plan: learned`. A choice is a way (protocols and slots) and a polling mode.
//
// The ways are the plan of the hints, each RDMA protocol for requests and replies of all sizes, and
// TCP. A hint reduces them: with `protocol` or `transport: tcp` only the plan of the hints is left,
// `transport: rdma` excludes TCP, and `polling` excludes the other polling modes. Busy polling,
// which can occupy a core, is a choice only with perf_goal latency or throughput.
//
// The plan of the hints in its own polling mode leaves each daemon the mode of its hints. Each
// other choice has one mode for both daemons: with each call the client's daemon asks the server's
// daemon for it (engine::kPollingMask). With perf_goal res_util it does not ask, because it cannot
// measure the processor time of the server's daemon.
//
// The ways differ in the slots too: a protocol that uses slots is a way with slots for the hint
// payload_size, and another one with the largest slots. So this size decides which messages use a
// rendezvous. With perf_goal res_util there are no ways with the largest slots, because these need
// the most memory. Ways that would lead to the same lanes are one way.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/hints.h"
#include "daemon/routing/lane_key.h"
#include "engine/plan/planner.h"

namespace hat {

// The polling modes for one call.
struct CallPolling {
  Polling client = Polling::kEvent;  // of the client's daemon
  // For which the client's daemon asks the server's daemon; nullopt: the server's own plan decides.
  std::optional<Polling> server;
};

struct LearnedWay {
  std::string name;   // such as "direct_write_imm", "direct_write_imm with 64KiB slots" or "tcp"
  engine::Plan plan;  // of the client's side
  WantedLanes lanes;
  // True for all ways but the plan of the hints: a lane with a replacement for a protocol that the
  // peer cannot use is of no use.
  bool exact = true;
};

struct LearnedPlan {
  std::optional<PerfGoal> goal;  // of the client's side: decides what counts as cost
  std::vector<LearnedWay> ways;  // the first one is the plan of the hints
  std::vector<Polling> pollings;
  size_t first_polling = 0;  // the index in `pollings` of the polling mode of the hints' plan

  size_t choices() const { return ways.size() * pollings.size(); }
  // Returns the polling modes of a choice, by its number in engine::Learner.
  CallPolling polling_of(size_t choice) const;
  // Returns a choice, by its number in engine::Learner, as text: "rfp, event".
  std::string name(size_t choice) const;
  // Returns a choice and the goal for which it is chosen, for the file that keeps it:
  // "rfp, event (latency)", or "rfp, event" without a goal.
  std::string kept_name(size_t choice) const;
  // Returns the number of the choice with this kept_name(); nullopt if there is none.
  std::optional<size_t> find(std::string_view kept_name) const;
  // Returns true if both have the same choices in the same order, so that what was learned for one
  // holds for the other.
  bool has_choices_of(const LearnedPlan& other) const;
};

// Returns the polling modes that the hints of one side leave open. Busy polling needs perf_goal
// latency or throughput.
std::vector<Polling> open_pollings(const Hints& hints);
// Returns the choices of a function whose hints have `plan: learned`; null if the hints and the
// host leave only one choice. `client` and `server` are the hints of the two sides, and `hinted` is
// the plan of the client's side.
std::shared_ptr<const LearnedPlan> learned_plan(const engine::Plan& hinted, const Hints& client,
                                                const Hints& server, const engine::HostFacts& host);

// Returns the polling modes for which another node's daemon may ask this node's daemon, when it
// serves a function with these hints for its side. `learned` are the choices that this node would
// have for calls of the function, or null. None, if these choices have only one polling mode, if a
// hint names the mode of the server's side, or with perf_goal res_util.
std::vector<Polling> pollings_to_ask_for(const LearnedPlan* learned, const Hints& server);

}  // namespace hat
