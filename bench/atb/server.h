// SPDX-License-Identifier: Apache-2.0
// bench/atb/server.h: the server of all of ATB's benchmarks.
//
// A thread for each connection. The kernel shares the cores among the threads whose client waits,
// so 512 clients on two cores are served alike; and it takes sockets and rings, which
// TNonblockingServer does not.
#pragma once

#include "base/result.h"
#include "bench/atb/options.h"

namespace hat::atb {

// Prints `listening on ADDRESS`, and answers until SIGTERM or SIGINT.
Result<void> serve(const Options& options);

}  // namespace hat::atb
