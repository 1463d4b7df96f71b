// SPDX-License-Identifier: Apache-2.0
// daemon/routing/route_changes.h: describes the differences between two routing tables to an
// operator.
#pragma once

#include <string>
#include <vector>

#include "daemon/routing/routing_table.h"

namespace hat {

// Returns a line for each function and side whose plan differs, and for each new and each removed
// function. "_other" stands for functions that no manifest names. A line for a plan shows the first
// of these that differs:
//   "HatKV.get: client: direct_write_imm, busy → ≤4KiB eager, …"   what describe() returns
//   "HatKV.get: client: timeout_ms 100 → 250, priority normal → high"
//   "HatKV.get: client: eager, event unchanged; the reason is now: …"
// Another line follows if other peers may call the function: "HatKV.get: allow: everybody → host-a
// (dry run)", or if its oneway, its argument types or allow_unknown_fields differ.
std::vector<std::string> route_changes(const RoutingTable& before, const RoutingTable& after);

}  // namespace hat
