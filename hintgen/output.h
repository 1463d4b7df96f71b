// SPDX-License-Identifier: Apache-2.0
// hintgen/output.h: writes the output of hintgen to the destination of `-o`.
#pragma once

#include <string>

#include "base/result.h"

namespace hat::hintgen {

// Writes `text` to the file at `path`, or to standard output if `path` is "-".
//
// A regular file is replaced as a whole, so that a daemon that watches the file never reads only a
// part of the text. If `path` is a symbolic link, the target is replaced and the link stays.
// Devices and pipes are written directly.
Result<void> write_output(const std::string& path, const std::string& text);

}  // namespace hat::hintgen
