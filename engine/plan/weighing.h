// SPDX-License-Identifier: Apache-2.0
// engine/plan/weighing.h: how measured costs change a plan that the planner's table has made. Pure.
//
//   goal         what is compared
//   latency      direct_write_imm with eager, at the plan's payload. Polling stays busy only if it
//                saves more than kPollingWorth of a call; otherwise it becomes event
//   throughput   nothing: no component cost includes the processor time that a server saves
//   res_util     the border between small and large: slots up to the size at which a rendezvous
//                costs little more (border_bytes())
//   none         hybrid_eager_rndv with direct_write_imm, and a rendezvous above the border
//
// Another choice replaces the table's only if it takes at most kWorth of the table's time, because
// measurements vary.
#pragma once

#include "engine/costs/cost_curve.h"
#include "engine/plan/planner.h"

namespace hat::engine {

inline constexpr double kWorth = 0.9;
inline constexpr double kPollingWorth = 0.05;

// Changes the protocols, the border and, only if `polling_is_open`, the polling. Appends the result
// to the reason, even if nothing changes (for throughput, appends nothing).
void weigh(Plan& plan, std::optional<PerfGoal> goal, bool polling_is_open,
           const ComponentCosts& costs);

}  // namespace hat::engine
