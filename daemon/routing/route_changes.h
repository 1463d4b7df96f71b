// SPDX-License-Identifier: Apache-2.0
// daemon/routing/route_changes.h: describes for an operator how a reload changes the routing table.
#pragma once

#include <string>
#include <vector>

#include "daemon/routing/routing_table.h"

namespace hat {

struct RouteChange {
  std::string text;          // one line, see route_changes()
  std::string reason = "";   // of the new plan; empty if no plan differs
  bool only_reason = false;  // the plan carries calls as before, only its reason differs
};

// Returns a change for each function and side (client or server) whose plan differs between
// `before` and `after`, and one for each added or removed function. The function "_other" stands
// for all functions that no manifest names. The text for a plan has the first of these forms whose
// contents differ:
//   "HatKV.get: client: direct_write_imm, busy → ≤4KiB eager, …"   what describe() returns
//   "HatKV.get: client: timeout_ms 100 → 250, priority normal → high"
//   "HatKV.get: client: eager, event unchanged; the reason is now: …"
// If only the protocol that this node requests for the replies of other hosts differs, a change
// "HatKV.get: replies from other hosts: …" has this protocol by column of the planner's table.
// Also returns a change for each function whose `allow` rule differs, such as "HatKV.get: allow:
// everybody → host-a (dry run)", or that became oneway or two-way, and changes for other argument
// types and another allow_unknown_fields.
std::vector<RouteChange> route_changes(const RoutingTable& before, const RoutingTable& after);
std::vector<std::string> texts_of(const std::vector<RouteChange>& changes);

}  // namespace hat
