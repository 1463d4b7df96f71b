// SPDX-License-Identifier: Apache-2.0
// daemon/admin/slow_json.h: the answer of GET /slow.
#pragma once

#include <nlohmann/json.hpp>

#include "daemon/admin/control.h"

namespace hat {

// Returns {slow: [CALL], waiting: [WAITING], waiting_left_out (elements that `waiting` lacks, as
// there are too many), workers, workers_silent (workers whose event loop did not respond in time:
// `waiting` lacks their calls)}.
//
// `slow` has the slowest calls of this node's clients that ended in the last minutes, the slowest
// first, with at most kSlowCallsMax elements. CALL: {unix_time (of the call's begin, in s since
// 1970), and the members of add_call()}.
//
// `waiting` has the calls of this node's clients that wait for their replies for at least
// kWaitingAtLeast, by function, peer, cause and worker, the oldest first, with at most kWaitingMax
// elements, and at most kWaitingOfWorker of one worker. WAITING: {service, method, peer ("" if the
// calls were not sent), worker, waits_for: "to_be_sent" | "rest_of_request" | "reply" |
// "rest_of_reply", may_be_oneway (no manifest lists the function, so no reply may be due), calls
// (the oldest one of each client connection counts), oldest_us (the age of the oldest call, in
// µs)}.
nlohmann::json slow_json(const Control& control);
inline constexpr size_t kSlowCallsMax = 256;
inline constexpr size_t kWaitingMax = 256;
inline constexpr size_t kWaitingOfWorker = 64;

}  // namespace hat
