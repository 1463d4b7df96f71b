// SPDX-License-Identifier: Apache-2.0
#include "config/names.h"

#include <algorithm>

namespace hat {
namespace {

constexpr std::string_view kFirst = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
constexpr std::string_view kDigits = "0123456789";

std::optional<std::string> checked(std::optional<std::string> name, const YamlValue& value,
                                   std::string_view what, std::string_view others, bool any_first,
                                   const char* expected) {
  if (!name) return std::nullopt;
  const std::string allowed = std::string(kFirst) + std::string(kDigits) + std::string(others);
  if (!name->empty() && name->size() <= kConfigNameBytesMax &&
      (any_first || kFirst.find(name->front()) != std::string_view::npos) &&
      name->find_first_not_of(allowed) == std::string::npos) {
    return name;
  }
  value.error(std::string(what) + ": " + in_quotes(*name) + "; expected 1 to " +
              std::to_string(kConfigNameBytesMax) + " " + expected);
  return std::nullopt;
}

std::optional<std::string> checked_node_name(std::optional<std::string> name,
                                             const YamlValue& value, std::string_view what) {
  return checked(std::move(name), value, what, ".-", true, "letters, digits, '.', '-' and '_'");
}

}  // namespace

std::optional<std::string> read_identifier(const YamlValue& value, std::string_view what) {
  return checked(read_text(value, what), value, what, ".", false,
                 "letters, digits, '_' and '.', the first a letter or '_'");
}

std::optional<std::string> read_node_name(const YamlValue& value, std::string_view what) {
  return checked_node_name(read_text(value, what), value, what);
}

std::optional<std::string> read_own_name(const YamlValue& value, std::string_view what) {
  auto text = read_text(value, what);
  if (!text || !text->starts_with('$')) return checked_node_name(std::move(text), value, what);
  auto name = look_up(value, what, *text);
  if (!name) return std::nullopt;
  return checked_node_name(std::move(name), value, std::string(what) + " (" + *text + ")");
}

std::string names_text(const std::vector<std::string>& names) {
  constexpr size_t kNamed = 4;
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kNamed); ++i) {
    text += (i == 0 ? "" : ", ") + names[i];
  }
  if (names.size() > kNamed) text += " and " + std::to_string(names.size() - kNamed) + " more";
  return text;
}

}  // namespace hat
