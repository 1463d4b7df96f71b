// SPDX-License-Identifier: Apache-2.0
// bench/atb/client_process.h: runs the client threads of one process until the measurement ends.
//
// If a client fails, the process writes an error message to its Slot and exits.
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

// Shared memory with a process's results. The parent process reads it after the process has ended.
struct Slot {
  char failure[1024] = {};  // error message of a process that exits with another status than 0
  Measured measured;
};

// Connects options.threads clients, with numbers from `first_client` on, and waits until each
// client has one answer. Then calls `wait_for_begin`, which must return the time at which the
// warm-up begins. Returns after all clients have ended.
void run_clients(const Load& load, uint32_t first_client,
                 const std::function<Clock::time_point()>& wait_for_begin, Slot& slot);

}  // namespace hat::atb
