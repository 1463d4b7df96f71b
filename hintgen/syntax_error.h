// SPDX-License-Identifier: Apache-2.0
// hintgen/syntax_error.h: words a syntax error from what was found and what was expected.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hat::hintgen {

// `found` is the token's text, empty at the end of the file; `expected` are the grammar's names of
// tokens ("'{'", "a name", …), which are folded into "a type", "a definition", … where they fit.
std::string syntax_error_text(std::string_view found, std::vector<std::string_view> expected);

// For a byte with which no token begins.
std::string unknown_byte_text(char byte);

}  // namespace hat::hintgen
