// SPDX-License-Identifier: Apache-2.0
// engine/plan/weighing.h: what measured costs change of a plan that the planner's table has made.
// Pure.
//
//   goal         what is weighed
//   latency      direct_write_imm against eager at the plan's payload; and whether polling buys
//   more
//                than kPollingWorth of a call: else event
//   throughput   nothing: what a server's processor is spared is in no component cost
//   res_util     the border between small and large: slots up to where a rendezvous is not much
//                dearer (border_bytes())
//   none         hybrid_eager_rndv against direct_write_imm with a rendezvous beyond the border
//
// What the table says gives way only to what takes kWorth of it or less: measurements vary.
#pragma once

#include "engine/costs/cost_curve.h"
#include "engine/plan/planner.h"

namespace hat::engine {

inline constexpr double kWorth = 0.9;
inline constexpr double kPollingWorth = 0.05;

// Changes protocols, border and polling (that only where `polling_is_open`); appends what was found
// to the reason, also where nothing changes.
void weigh(Plan& plan, std::optional<PerfGoal> goal, bool polling_is_open,
           const ComponentCosts& costs);

}  // namespace hat::engine
