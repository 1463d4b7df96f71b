// SPDX-License-Identifier: Apache-2.0
// bench/atb/server.h: runs the server of all ATB benchmarks.
//
// The server has one thread per connection. The kernel divides the cores among the threads whose
// clients wait, so it serves even 512 clients on two cores equally. Unlike TNonblockingServer, this
// server also accepts rings.
#pragma once

#include "base/result.h"
#include "bench/atb/options.h"

namespace hat::atb {

// Prints `listening on ADDRESS`, and serves until SIGTERM or SIGINT.
Result<void> serve(const Options& options);

}  // namespace hat::atb
