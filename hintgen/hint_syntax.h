// SPDX-License-Identifier: Apache-2.0
// hintgen/hint_syntax.h: what is wrong with hints that the grammar does not take.
//
// The grammar reads `hint` as an ordinary name, so its own words for a slip within hints ("expected
// '('") would speak of functions and fields.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hat::hintgen {

// A token that the grammar did not expect, with the two tokens before it; empty if there are none.
struct TokensAtError {
  std::string_view before_previous;
  std::string_view previous;
  std::string_view found;
};

struct HintSyntaxError {
  bool at_previous;  // the mistake is at `previous`, else at `found`
  std::string message;
};

// nullopt if the tokens do not look like a slip within hints. `expected`: as in
// syntax_error_text().
std::optional<HintSyntaxError> hint_syntax_error(const TokensAtError& tokens,
                                                 const std::vector<std::string_view>& expected);

}  // namespace hat::hintgen
