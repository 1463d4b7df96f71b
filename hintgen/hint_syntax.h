// SPDX-License-Identifier: Apache-2.0
// hintgen/hint_syntax.h: makes error messages for hints that the grammar does not accept.
//
// The parser treats `hint` as an ordinary name. Therefore the parser's own message for a wrong hint
// speaks of functions and fields ("expected '('"), which does not help the author.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hat::hintgen {

// The text of an unexpected token (`found`) and of the two tokens before it. A text is empty if
// there is no such token.
struct TokensAtError {
  std::string_view before_previous;
  std::string_view previous;
  std::string_view found;
};

struct HintSyntaxError {
  bool at_previous;  // true if the message is about the token `previous`, false if about `found`
  std::string message;
};

// Returns the error for a wrong hint, or nullopt if the tokens do not look like a hint. `expected`
// has the names of the tokens that the grammar would accept ("':'", "a name", …).
std::optional<HintSyntaxError> hint_syntax_error(const TokensAtError& tokens,
                                                 const std::vector<std::string_view>& expected);

}  // namespace hat::hintgen
