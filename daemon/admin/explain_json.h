// SPDX-License-Identifier: Apache-2.0
// daemon/admin/explain_json.h: the answer of GET /explain, which completes what /routes says of a
// function.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "daemon/admin/control.h"

namespace hat {

// Returns how calls of the function would be carried now, and why: {service, function, hints:
// [HINT], deadline: {ms (or null: none), from: "timeout_ms"|"limits.call_timeout"|""}, priority,
// idempotent, retry_percent and retry_request_bytes (as in `limits`), several_peers (an endpoint of
// this node has several peers), endpoints: [text] (those that have this service as their key
// `service`), workers, workers_silent and left_out (as in /peers), ways: [WAY], serves: {upstream,
// mode} or null (this node does not serve it), recent: {window_s, client: CALLS, server: CALLS},
// slow: {kept (slowest calls of all functions), of_function, slowest_us}}.
// HINT: {of: "function"|"service", group: "hint"|"c_hint"|"s_hint", key, value}.
// WAY, how a call that began now would reach a peer: {worker, endpoint, peer, state and last_error
// (of the link), candidate (a new connection may get this peer), overflow (it is a candidate, but
// slow, and gets a connection if the others have no room, or as a trial), avoided, ejection: as
// AVOIDED in peers_json.h without worker and endpoint, or null, is_near, slow (its calls take much
// longer than those of other peers), weight, unanswered, learned (the learned choice decides what
// carries requests), small: CARRIER or null, large: CARRIER or null}.
// CARRIER: {protocols (of the RDMA lane that is up, or ""), why (for TCP: a reason as in
// /functions, or ""), last_error (of the lane), opens (the call would open the lane)}; `large` is
// for requests above the plan's small_bytes_max. They are null if the plan says TCP, if the link
// takes no calls, or if `learned`.
// CALLS: {calls, timed_out}, of the calls that ended in the window.
// Returns nullopt if no manifest and no endpoint has the service, or if the function is neither
// listed nor "_other".
std::optional<nlohmann::json> explain_json(Control& control, const std::string& service,
                                           const std::string& function);

}  // namespace hat
