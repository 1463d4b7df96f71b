// SPDX-License-Identifier: Apache-2.0
// bench/atb/load.h: a load of several client processes that begin together.
#pragma once

#include "bench/atb/client_process.h"

namespace hat::atb {

struct LoadResult {
  Measured measured;
  double seconds = 0;  // that were measured
};

// Forks options.processes processes: nothing else may run in this one. Returns after all have
// ended. The first one that fails ends the others. Also where no call ended in time:
// kCannotMeasure.
Outcome<LoadResult> run_load(const Load& load);

}  // namespace hat::atb
