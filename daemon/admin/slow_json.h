// SPDX-License-Identifier: Apache-2.0
// daemon/admin/slow_json.h: the answer of GET /slow.
#pragma once

#include <nlohmann/json.hpp>

#include "daemon/admin/control.h"

namespace hat {

// Returns {slow: [CALL]}, the slowest calls of this node's clients in the last minutes, the slowest
// first, with at most kSlowCallsMax elements. CALL: {unix_time (of the call's begin, in s since
// 1970), and the members of call_json()}.
nlohmann::json slow_json(const Control& control);
inline constexpr size_t kSlowCallsMax = 256;

}  // namespace hat
