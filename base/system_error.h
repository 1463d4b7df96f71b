// SPDX-License-Identifier: Apache-2.0
// base/system_error.h: errors of system calls as Error.
#pragma once

#include <string>

#include "base/result.h"

namespace hat {

// Returns the code for `error`, an errno value.
ErrorCode code_of_errno(int error);

// Returns the error "<what>: <text of the errno value>".
std::unexpected<Error> fail_errno(std::string what, int error);

}  // namespace hat
