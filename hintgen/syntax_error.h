// SPDX-License-Identifier: Apache-2.0
// hintgen/syntax_error.h: makes the message of a syntax error from the token found and the tokens
// expected.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hat::hintgen {

// Returns the message. `found` is the token's text, empty at the end of the file. `expected` are
// the grammar's names of tokens ("'{'", "a name", …); they are folded into "a type", "a
// definition", … if possible.
std::string syntax_error_text(std::string_view found, std::vector<std::string_view> expected);

// Returns the message for a byte with which no token begins.
std::string unknown_byte_text(char byte);

}  // namespace hat::hintgen
