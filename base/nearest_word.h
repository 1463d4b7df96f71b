// SPDX-License-Identifier: Apache-2.0
// base/nearest_word.h: finds the word that a person probably meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hat {

// Returns the word of `known` that is nearest to `found`, or an empty text if none is near enough.
std::string_view nearest_word(std::string_view found, const std::vector<std::string_view>& known);
// Returns " (did you mean 'x'?)" if a word of `known` is near enough to `found`, else "".
std::string did_you_mean(std::string_view found, const std::vector<std::string_view>& known);

}  // namespace hat
