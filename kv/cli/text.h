// SPDX-License-Identifier: Apache-2.0
// kv/cli/text.h: writes any bytes as one line of text, reads them back.
//
// Backslashes, control characters and line breaks become \\, \t, \n, \r or \xHH. All other bytes
// stay as they are, so UTF-8 stays readable. `hatkv scan` writes pairs as KEY<tab>VALUE<newline>,
// and `hatkv load` reads them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace hat {

std::string escape(std::string_view bytes);

// Errors: a backslash that does not begin an escape.
Result<std::string> unescape(std::string_view text);

// Parses KEY<tab>VALUE, without the line's end.
Result<std::pair<std::string, std::string>> parse_pair(std::string_view line);

}  // namespace hat
