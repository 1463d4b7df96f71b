// SPDX-License-Identifier: Apache-2.0
// hintgen/hint_syntax.h: makes error messages for hints that the grammar does not accept.
//
// The grammar reads `hint` as an ordinary name. So its own message for a mistake in a hint
// ("expected '('") would refer to functions and fields.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hat::hintgen {

// An unexpected token and the two tokens before it. A text is empty if there is no such token.
struct TokensAtError {
  std::string_view before_previous;
  std::string_view previous;
  std::string_view found;
};

struct HintSyntaxError {
  bool at_previous;  // the error is at `previous`, else at `found`
  std::string message;
};

// Returns nullopt if the tokens do not look like a mistake in a hint. `expected` is as for
// syntax_error_text().
std::optional<HintSyntaxError> hint_syntax_error(const TokensAtError& tokens,
                                                 const std::vector<std::string_view>& expected);

}  // namespace hat::hintgen
