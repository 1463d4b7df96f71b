// SPDX-License-Identifier: Apache-2.0
#include "config/yaml_text.h"

#include <yaml-cpp/emittermanip.h>

#include <algorithm>
#include <array>

#include "base/lower_case.h"

namespace hat {
namespace {

// Texts that need quotes, in lower case: some YAML parser reads them, without quotes, as a boolean,
// as null, as the merge key (`<<`) or as the value key (`=`).
constexpr std::array<std::string_view, 13> kWords = {
    "", "~", "null", "y", "n", "yes", "no", "on", "off", "true", "false", "<<", "="};
constexpr std::array<std::string_view, 2> kNumberWords = {".inf", ".nan"};

constexpr std::string_view kNumberBegins = "0123456789.";
// A text of these characters alone can be a number of any base (also with an exponent or '_'), a
// base-60 number ("1:30"), or a date with a time and a time zone.
constexpr std::string_view kNumberBytes = "0123456789abcdefABCDEFxXoO_+-.: \ttTzZ";

}  // namespace

bool needs_yaml_quotes(std::string_view text) {
  const std::string lower = lower_case(text);
  if (std::ranges::find(kWords, lower) != kWords.end()) return true;
  std::string_view unsigned_part = lower;
  if (lower.front() == '+' || lower.front() == '-') unsigned_part.remove_prefix(1);
  if (unsigned_part.empty()) return true;  // a lone sign: '-' begins an item of a list
  if (std::ranges::find(kNumberWords, unsigned_part) != kNumberWords.end()) return true;
  return kNumberBegins.find(unsigned_part.front()) != std::string_view::npos &&
         text.find_first_not_of(kNumberBytes) == std::string_view::npos;
}

void emit_yaml_text(YAML::Emitter& out, const std::string& text) {
  if (needs_yaml_quotes(text)) out << YAML::DoubleQuoted;
  out << text;
}

}  // namespace hat
