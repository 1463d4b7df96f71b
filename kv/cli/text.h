// SPDX-License-Identifier: Apache-2.0
// kv/cli/text.h: converts any bytes to one line of text, and such a line back to the bytes.
//
// Backslashes and control characters, also line breaks, become \\, \t, \n, \r or \xHH. All other
// bytes stay unchanged, so that UTF-8 is readable. `hatkv scan` writes pairs as
// KEY<tab>VALUE<newline>, and `hatkv load` reads such pairs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace hat {

std::string escape(std::string_view bytes);

// Returns the bytes of a text from escape(), or an error if a backslash does not begin an escape.
Result<std::string> unescape(std::string_view text);

// Parses a line KEY<tab>VALUE, given without its line break. Returns the key and the value.
Result<std::pair<std::string, std::string>> parse_pair(std::string_view line);

}  // namespace hat
