// SPDX-License-Identifier: Apache-2.0
// bench/atb/client_process.h: the threads of one process, a client each, that call until their time
// is over.
//
// Thread   the process's first. It ends the process where a client fails: see `Slot`.
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

// Memory that the process shares with the one that made it, which reads it after the process ended.
struct Slot {
  char failure[1024] = {};  // in words; the exit status is the process's
  Measured measured;
};

// Connects options.threads clients, the first with number `first_client`; each is answered once.
// Then calls `wait_for_begin`, which returns when warming up begins.
void run_clients(const Load& load, uint32_t first_client,
                 const std::function<Clock::time_point()>& wait_for_begin, Slot& slot);

}  // namespace hat::atb
