// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/opaque_failure.h: counts and logs the failure of an opaque stream.
//
// The daemon does not follow the messages of an opaque stream, so it cannot answer with an
// exception: the client only sees that its connection is reset. Each daemon that ends an opaque
// stream therefore counts the failure and logs the reason.
//
// Thread   the worker's.
#pragma once

#include <string_view>

#include "daemon/metrics/counters.h"
#include "daemon/routing/routing_table.h"
#include "engine/failure.h"

namespace hat {

// Counts the failure. Logs it unless this function has logged a failure within the last second, of
// any opaque stream in the process. `what` names the endpoint (client's side) or the service and
// peer (server's side); `detail` is the reason as text.
void note_opaque_failure(WorkerCounters& counters, Side side, std::string_view what,
                         engine::Failure failure, std::string_view detail);

}  // namespace hat
