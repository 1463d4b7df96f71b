// SPDX-License-Identifier: Apache-2.0
// hatctl/run.h: carries out one command: asks the daemon, prints the answer.
#pragma once

#include "hatctl/options.h"

namespace hat::hatctl {

// What shells and scripts tell apart.
inline constexpr int kDone = 0;
inline constexpr int kRefused = 1;  // or not well: not ready, a worker that does not turn
inline constexpr int kUsage = 2;
inline constexpr int kUnreachable = 3;

// Answers go to standard output, complaints to standard error. Returns the exit status.
int run(const Options& options);

}  // namespace hat::hatctl
