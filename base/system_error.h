// SPDX-License-Identifier: Apache-2.0
// base/system_error.h: converts the errno value of a failed system call to an Error.
#pragma once

#include <string>

#include "base/result.h"

namespace hat {

// Returns the ErrorCode for the errno value `error`.
ErrorCode code_of_errno(int error);

// Returns the error "<what>: <text of the errno value>".
std::unexpected<Error> fail_errno(std::string what, int error);

}  // namespace hat
