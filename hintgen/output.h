// SPDX-License-Identifier: Apache-2.0
// hintgen/output.h: writes the output of hintgen to the destination of `-o`.
#pragma once

#include <string>

#include "base/result.h"

namespace hat::hintgen {

// Writes `text` to the file at `path`, or to standard output if `path` is "-".
//
// Replaces a file as a whole, so a daemon that watches the file never reads a part of it. Follows
// symbolic links and keeps them; writes directly to devices and pipes.
Result<void> write_output(const std::string& path, const std::string& text);

}  // namespace hat::hintgen
