// SPDX-License-Identifier: Apache-2.0
// kv/cli/commands.h: runs hatkv's client commands: get, put, del, scan, load, stats and backup.
#pragma once

#include <string_view>

#include "base/result.h"
#include "kv/cli/command_options.h"

namespace hat {

// Exit statuses of hatkv.
constexpr int kExitRefused = 1;      // the key does not exist, or the server refused the call
constexpr int kExitUsage = 2;        // the command line or the server's options are wrong
constexpr int kExitUnreachable = 3;  // the server cannot be reached or did not answer

bool is_command(std::string_view name);

// Runs the command `name`: prints results to standard output and errors to standard error. Returns
// the exit status.
int run_command(std::string_view name, const CommandOptions& options);

// Runs `hatkv load` (kv/cli/load.cc); returns the exit status.
int run_load(const CommandOptions& options);

// Prints "hatkv: MESSAGE" to standard error; returns `exit_code`.
int complain(std::string_view message, int exit_code);

}  // namespace hat
