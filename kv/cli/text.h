// SPDX-License-Identifier: Apache-2.0
// kv/cli/text.h: bytes as one line of text that reads back as the same bytes, and sizes for people.
//
// A backslash, control characters and the end of a line become \\, \t, \n, \r or \xHH; every other
// byte stands for itself, so that UTF-8 stays readable. `hatkv scan` writes pairs as
// KEY<tab>VALUE<newline>, and `hatkv load` reads them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace hat {

std::string escape(std::string_view bytes);

// Errors: a backslash that begins no escape.
Result<std::string> unescape(std::string_view text);

// KEY<tab>VALUE, without the end of the line.
Result<std::pair<std::string, std::string>> parse_pair(std::string_view line);

std::string human_bytes(double bytes);  // "512 B", "1.5 KiB", "2.0 GiB"

}  // namespace hat
