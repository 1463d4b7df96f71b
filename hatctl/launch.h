// SPDX-License-Identifier: Apache-2.0
// hatctl/launch.h: `hatctl run`: starts a program with the preloaded library (docs/preload.md), so
// that the program uses the rings that the daemon's configuration lists.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "base/result.h"
#include "hatctl/options.h"

namespace hat::hatctl {

// Exit statuses of `hatctl run`, which are those of env(1). Every other status is the program's.
inline constexpr int kLaunchFailed = 125;  // hatctl could not prepare the start
inline constexpr int kNotExecutable = 126;
inline constexpr int kNotFound = 127;

// The values of the preloaded library's environment variables. A variable without rings is empty.
struct RingVariables {
  std::string connect;  // HATRPC_RINGS
  std::string listen;   // HATRPC_LISTEN_RINGS
};

// Returns the variables for all rings in `status`, the daemon's answer to /status. Host names
// become numeric addresses. Throws json::exception if `status` has another form.
RingVariables ring_variables(const nlohmann::json& status);

// Returns the file of the preloaded library: `wanted` if it is not empty, or else the library of
// the build tree or of the installation to which this program belongs.
Result<std::string> find_library(const std::string& wanted);

// Replaces this process by the program. Returns an exit status, and prints the error to standard
// error, if this fails.
int launch(const Options& options);

}  // namespace hat::hatctl
