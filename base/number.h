// SPDX-License-Identifier: Apache-2.0
// base/number.h: parses a text that consists of one number and nothing else.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace hat {

// Returns the number that `text` consists of. Returns std::nullopt if `text` contains anything else
// (a space, a plus sign, a unit) or if T cannot hold the number. `base` is the base of an integer;
// the default is 10.
template <class T, class... Base>
std::optional<T> parse_number(std::string_view text, Base... base) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base...);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace hat
