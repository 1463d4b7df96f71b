// SPDX-License-Identifier: Apache-2.0
// engine/plan/weighing.h: changes a plan (the protocol, polling and sizes for one function) that
// the planner's table has made, if measured costs show that another choice is faster. Pure: no I/O
// and no state.
//
//   perf_goal    what the measured costs decide
//   latency      eager replaces direct_write_imm if it is faster for messages of the plan's size.
//                Busy polling becomes event polling unless busy polling saves more than
//                kPollingWorth of the time of a call
//   throughput   direct_write_imm, which pushes replies, replaces rfp, which fetches them, if calls
//                of many callers take less time with it. Only with event polling, with which calls
//                are measured, and only if the hint payload_size is large, because otherwise the
//                lanes of direct_write_imm would have no slots for such calls
//   res_util     the size that separates small from large messages (border_bytes())
//   (no hint)    direct_write_imm, with a rendezvous for larger messages, replaces
//                hybrid_eager_rndv if it is faster
//
// Measurements vary, so a protocol replaces the protocol of the table only if it takes at most
// kWorth of the time that the table's protocol takes.
#pragma once

#include "engine/costs/cost_curve.h"
#include "engine/plan/planner.h"

namespace hat::engine {

inline constexpr double kWorth = 0.9;
inline constexpr double kPollingWorth = 0.05;

// Changes the plan's protocols, its small_bytes_max and, only if `polling_is_open` (no hint asks
// for a certain polling), its polling. `goal` is the hint perf_goal, if there is one. Appends the
// comparison and its result to the plan's reason, even if nothing changes. With the goal
// throughput, changes and appends nothing if the plan has another polling than event, if messages
// of its size are not sent by rfp, or if the costs have no times of calls.
void weigh(Plan& plan, std::optional<PerfGoal> goal, bool polling_is_open,
           const ComponentCosts& costs);

}  // namespace hat::engine
