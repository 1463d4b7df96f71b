// SPDX-License-Identifier: Apache-2.0
// daemon/routing/route_changes.h: describes for an operator how a reload changes the routing table.
#pragma once

#include <string>
#include <vector>

#include "daemon/routing/routing_table.h"

namespace hat {

// Returns one line for each function and side (client or server) whose plan differs between
// `before` and `after`, and one line for each added or removed function. The function "_other"
// stands for all functions that no manifest names. A line for a plan has the first of these forms
// whose contents differ:
//   "HatKV.get: client: direct_write_imm, busy → ≤4KiB eager, …"   what describe() returns
//   "HatKV.get: client: timeout_ms 100 → 250, priority normal → high"
//   "HatKV.get: client: eager, event unchanged; the reason is now: …"
// If only the protocol that this node requests for the replies of other hosts differs, a line
// "HatKV.get: replies from other hosts: …" has this protocol by column of the planner's table.
// Also returns a line for each function whose `allow` rule differs, such as "HatKV.get: allow:
// everybody → host-a (dry run)", or that became oneway or two-way, and lines for changed argument
// types and a changed allow_unknown_fields.
std::vector<std::string> route_changes(const RoutingTable& before, const RoutingTable& after);

}  // namespace hat
