// SPDX-License-Identifier: Apache-2.0
// base/number.h: reads a number that is the whole of a text.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace hat {

// Nothing when there is anything else in `text` (a blank, a plus sign, a unit) or when T cannot
// hold the number. `base` is for integers, and 10 unless given.
template <class T, class... Base>
std::optional<T> parse_number(std::string_view text, Base... base) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base...);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace hat
