// SPDX-License-Identifier: Apache-2.0
// daemon/routing/route_changes.h: tells an operator what differs between two routing tables.
#pragma once

#include <string>
#include <vector>

#include "daemon/routing/routing_table.h"

namespace hat {

// A line per function and side whose plan differs, new functions and gone ones included; functions
// that no manifest names stand as "_other". The first of these that differs is told:
//   "HatKV.get: client: direct_write_imm, busy → ≤4KiB eager, …"   what describe() says of the plan
//   "HatKV.get: client: timeout_ms 100 → 250, priority normal → high"
//   "HatKV.get: client: eager, event as before; the reason now: …"
// And a line where other peers may call it: "HatKV.get: allow: everybody → host-a (dry run)".
std::vector<std::string> route_changes(const RoutingTable& before, const RoutingTable& after);

}  // namespace hat
