// SPDX-License-Identifier: Apache-2.0
#include "config/yaml_text.h"

#include <yaml-cpp/emittermanip.h>

#include <algorithm>
#include <array>

#include "base/lower_case.h"

namespace hat {
namespace {

// The words for booleans and null, the merge key `<<` and the value key `=`; all in lower case.
constexpr std::array<std::string_view, 13> kWords = {
    "", "~", "null", "y", "n", "yes", "no", "on", "off", "true", "false", "<<", "="};
constexpr std::array<std::string_view, 2> kNumberWords = {".inf", ".nan"};

constexpr std::string_view kNumberBegins = "0123456789.";
// All characters that occur in numbers of any base (also with an exponent or '_'), in base-60
// numbers ("1:30"), and in dates with times and time zones.
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
