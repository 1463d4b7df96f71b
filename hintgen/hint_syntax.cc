// SPDX-License-Identifier: Apache-2.0
// hintgen/hint_syntax.cc: recognizes each kind of wrong hint by the last two or three tokens, and
// by the tokens that the grammar would accept.
#include "hintgen/hint_syntax.h"

#include <algorithm>

#include "config/hint_values.h"
#include "hintgen/hint_spelling.h"

namespace hat::hintgen {
namespace {

bool is_group_word(std::string_view word) { return side_of_group(word).has_value(); }

std::string missing_colon(std::string_view group_word, std::string_view key) {
  const std::string group(group_word);
  return "expected ':' after '" + group + "'; write '" + group + ": " + std::string(key) +
         "=VALUE;'";
}

}  // namespace

std::optional<HintSyntaxError> hint_syntax_error(const TokensAtError& tokens,
                                                 const std::vector<std::string_view>& expected) {
  const auto& [before_previous, previous, found] = tokens;
  const auto is_expected = [&](std::string_view token) {
    return std::ranges::find(expected, token) != expected.end();
  };
  // Example: [ hint perf_goal=latency; ]
  if (is_group_word(previous) && is_hint_key(found) && is_expected("':'")) {
    return HintSyntaxError{false, missing_colon(previous, found)};
  }
  if (found == "=" && is_hint_key(previous)) {
    // Example: service S { hint perf_goal=latency; ... }. The ':' after `hint` is missing. The
    // parser finds this out only at the '=', because `hint perf_goal` could begin a function.
    if (is_group_word(before_previous)) {
      return HintSyntaxError{true, missing_colon(before_previous, previous)};
    }
    const std::string key(previous);
    if (is_expected("':'") && before_previous == ";") {
      return HintSyntaxError{true, "expected a group of hints, found the hint '" + key +
                                       "'; write ',' instead of ';' between the hints of one "
                                       "group, or 'hint: " +
                                       key + "=VALUE;'"};
    }
    if (is_expected("':'")) {
      return HintSyntaxError{
          true, "the hint '" + key + "' is outside of a group; write 'hint: " + key + "=VALUE;'"};
    }
  }
  const bool definition_expected = is_expected("'service'") && is_expected("'struct'");
  if ((found == ":" && is_group_word(previous)) || (is_group_word(found) && definition_expected)) {
    const std::string word(found == ":" ? previous : found);
    return HintSyntaxError{found == ":",
                           "'" + word +
                               ":' is not allowed here, because only services and functions have "
                               "hints; write it in a service, or in [ ] after a function"};
  }
  if (is_expected("','") && is_expected("';'")) {
    if (is_hint_key(found)) {
      return HintSyntaxError{
          false, "expected ',' before the next hint; write ', " + std::string(found) + "=VALUE'"};
    }
    const bool after_a_hint = std::ranges::all_of(expected, [](std::string_view token) {
      return token == "','" || token == "';'" || token == "a name";  // a name: the unit of a number
    });
    if (after_a_hint && !found.empty()) {
      return HintSyntaxError{
          false, "a group of hints ends with ';'; write ';' before '" + std::string(found) + "'"};
    }
  }
  return std::nullopt;
}

}  // namespace hat::hintgen
