// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/opaque_failure.h: what remains of a stream that was carried byte for byte and
// failed.
//
// Nobody can be answered on such a stream: its client sees a reset and no reason. So each daemon
// that ends one counts it and logs why.
//
// Thread   the worker's.
#pragma once

#include <string_view>

#include "daemon/metrics/counters.h"
#include "daemon/routing/routing_table.h"
#include "engine/failure.h"

namespace hat {

// Counts the failure, and logs it unless another was logged within the last second. `what` names
// the endpoint or the served stream.
void note_opaque_failure(WorkerCounters& counters, Side side, std::string_view what,
                         engine::Failure failure, std::string_view detail);

}  // namespace hat
