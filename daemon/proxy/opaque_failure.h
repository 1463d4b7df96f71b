// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/opaque_failure.h: counts and logs the failure of a stream that was opaque.
//
// No exception can be sent on such a stream: its client sees a reset without a reason. Therefore
// each daemon that ends such a stream counts the failure and logs the reason.
//
// Thread   the worker's.
#pragma once

#include <string_view>

#include "daemon/metrics/counters.h"
#include "daemon/routing/routing_table.h"
#include "engine/failure.h"

namespace hat {

// Counts the failure, and logs it unless another one was logged within the last second. `what`
// names the endpoint or the served stream.
void note_opaque_failure(WorkerCounters& counters, Side side, std::string_view what,
                         engine::Failure failure, std::string_view detail);

}  // namespace hat
