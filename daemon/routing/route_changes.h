// SPDX-License-Identifier: Apache-2.0
// daemon/routing/route_changes.h: describes, for an operator, how a reload changes the routing
// table: the plans (protocol, polling and sizes) and the rules of functions.
#pragma once

#include <string>
#include <vector>

#include "daemon/routing/routing_table.h"

namespace hat {

// Returns one line for each function and side (client or server) whose plan differs between the two
// tables, and one line for each added or removed function. The function "_other" stands for all
// functions that no manifest names. The line for a plan has the first of these three forms whose
// contents differ:
//   "HatKV.get: client: direct_write_imm, busy → ≤4KiB eager, …"   what describe() returns
//   "HatKV.get: client: timeout_ms 100 → 250, priority normal → high"
//   "HatKV.get: client: eager, event unchanged; the reason is now: …"
// Returns another line if the peers that may call the function differ, such as "HatKV.get: allow:
// everybody → host-a (dry run)", or if the value of oneway, the argument types or
// allow_unknown_fields of the function differ.
std::vector<std::string> route_changes(const RoutingTable& before, const RoutingTable& after);

}  // namespace hat
