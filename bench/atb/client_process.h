// SPDX-License-Identifier: Apache-2.0
// bench/atb/client_process.h: runs one process's client threads until the end of the measurement.
//
// Thread   the process's first thread. If a client fails, the process exits: see `Slot`.
#pragma once

#include <functional>

#include "bench/atb/measured.h"

namespace hat::atb {

struct Load {
  Options options;
  Sizes latency;
  Sizes throughput;
  uint32_t latency_percent = 100;
};

// Memory shared with the parent process, which reads it after this process has ended.
struct Slot {
  char failure[1024] = {};  // error message; the exit status is the process's
  Measured measured;
};

// Connects options.threads clients, the first with number `first_client`, and waits until each has
// got one answer. Then calls `wait_for_begin`, which returns the start of the warm-up. Returns when
// all clients have ended.
void run_clients(const Load& load, uint32_t first_client,
                 const std::function<Clock::time_point()>& wait_for_begin, Slot& slot);

}  // namespace hat::atb
