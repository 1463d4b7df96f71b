// SPDX-License-Identifier: Apache-2.0
// bench/atb/server.h: runs the Thrift server of all ATB benchmarks.
//
// The server has one thread per connection, so that the kernel divides the cores equally among the
// clients, even among 512 clients on two cores. It also accepts connections over rings, which
// libthrift's TNonblockingServer cannot.
#pragma once

#include "base/result.h"
#include "bench/atb/options.h"

namespace hat::atb {

// Prints `listening on ADDRESS`, and serves until SIGTERM or SIGINT.
Result<void> serve(const Options& options);

}  // namespace hat::atb
