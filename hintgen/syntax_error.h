// SPDX-License-Identifier: Apache-2.0
// hintgen/syntax_error.h: makes the message for a syntax error from the token that was found and
// the tokens that the grammar would accept.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hat::hintgen {

// Returns the message. `found` is the text of the token, empty at the end of the file. `expected`
// has the names of tokens in the grammar ("'{'", "a name", …). If the list has all tokens with
// which a type or a definition can begin, the message has "a type" or "a definition" in their
// place.
std::string syntax_error_text(std::string_view found, std::vector<std::string_view> expected);

// Returns the message for a byte that cannot be the first byte of any token.
std::string unknown_byte_text(char byte);

}  // namespace hat::hintgen
