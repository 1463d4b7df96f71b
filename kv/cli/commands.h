// SPDX-License-Identifier: Apache-2.0
// kv/cli/commands.h: what `hatkv get`, put, del, scan, load, stats and backup do.
#pragma once

#include <string_view>

#include "base/result.h"
#include "kv/cli/command_options.h"

namespace hat {

// Exit statuses of hatkv.
constexpr int kExitRefused = 1;      // the key is not there, or the server refused
constexpr int kExitUsage = 2;        // the command line, or the server's options, are wrong
constexpr int kExitUnreachable = 3;  // the server cannot be reached, or did not answer

bool is_command(std::string_view name);

// Results go to standard output, what went wrong to standard error. The exit status.
int run_command(std::string_view name, const CommandOptions& options);

// kv/cli/load.cc. Throws what libthrift throws.
int run_load(const CommandOptions& options);

// "hatkv: MESSAGE" to standard error; `exit_code`.
int complain(std::string_view message, int exit_code);

}  // namespace hat
