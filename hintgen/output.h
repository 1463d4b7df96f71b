// SPDX-License-Identifier: Apache-2.0
// hintgen/output.h: puts what hintgen made where `-o` says.
#pragma once

#include <string>

#include "base/result.h"

namespace hat::hintgen {

// Writes `text` to the file at `path`, or to standard output if `path` is "-".
//
// A file is replaced as a whole: a daemon that watches it never reads half of it. Symbolic links
// are followed and stay links; devices and pipes are written to directly.
Result<void> write_output(const std::string& path, const std::string& text);

}  // namespace hat::hintgen
