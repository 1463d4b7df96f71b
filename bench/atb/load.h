// SPDX-License-Identifier: Apache-2.0
// bench/atb/load.h: runs a load: several client processes that begin to measure at the same time.
#pragma once

#include "bench/atb/client_process.h"

namespace hat::atb {

struct LoadResult {
  Measured measured;
  double seconds = 0;  // how long the measurement took
};

// Forks options.processes client processes, and returns their summed results after all of them have
// ended. If a process fails, kills the other processes and returns the failure. Returns the failure
// kCannotMeasure if no call ended in the measured time. The calling process must have only one
// thread, because it forks.
Outcome<LoadResult> run_load(const Load& load);

}  // namespace hat::atb
