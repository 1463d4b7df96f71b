// SPDX-License-Identifier: Apache-2.0
// base/nearest_word.h: finds the known word that a person has probably misspelled.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hat {

// Returns the word of `known` with the fewest differences from `found`. Returns an empty text if
// every known word differs in more than one letter and in more than a third of the letters.
std::string_view nearest_word(std::string_view found, const std::vector<std::string_view>& known);
// Returns " (did you mean 'x'?)" with the result x of nearest_word(), or "" if there is no result.
std::string did_you_mean(std::string_view found, const std::vector<std::string_view>& known);

}  // namespace hat
