// SPDX-License-Identifier: Apache-2.0
// bench/atb/load.h: runs a load of several client processes that start together.
#pragma once

#include "bench/atb/client_process.h"

namespace hat::atb {

struct LoadResult {
  Measured measured;
  double seconds = 0;  // measured time
};

// Forks options.processes processes, so the calling process must have only one thread. Returns
// after all of them have ended. If one fails, kills the others and returns its failure. Returns
// kCannotMeasure if no call ended in the measured time.
Outcome<LoadResult> run_load(const Load& load);

}  // namespace hat::atb
