// SPDX-License-Identifier: Apache-2.0
// hatctl/run.h: runs one command: sends requests to the daemon and prints the answers.
#pragma once

#include "hatctl/options.h"

namespace hat::hatctl {

// Exit statuses, for shells and scripts.
inline constexpr int kDone = 0;
// The daemon refused the command, or is not healthy: not ready, or the event loop of a worker
// hangs.
inline constexpr int kRefused = 1;
inline constexpr int kUsage = 2;
inline constexpr int kUnreachable = 3;

// Runs the command and returns the exit status. Prints answers to standard output and errors to
// standard error.
int run(const Options& options);

}  // namespace hat::hatctl
