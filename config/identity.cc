// SPDX-License-Identifier: Apache-2.0
#include "config/identity.h"

#include <algorithm>

#include "base/lower_case.h"

namespace hat {
namespace {

constexpr size_t kNameBytesMax = 2048;  // SPIFFE's limit for an id
constexpr std::string_view kSchemeEnd = "://";

bool is_letter_or_digit(char c) {
  return (c >= '0' && c <= '9') || (lower_case(c) >= 'a' && lower_case(c) <= 'z');
}

bool same_without_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](char one, char other) { return lower_case(one) == lower_case(other); });
}

}  // namespace

bool is_dns_name(std::string_view text) {
  return !text.empty() && text.size() <= 255 && text.front() != '.' &&
         text.find("..") == std::string_view::npos && std::ranges::all_of(text, [](char c) {
           return is_letter_or_digit(c) || c == '-' || c == '.' || c == '_';
         });
}

bool is_uri(std::string_view text) {
  const size_t end = text.find(kSchemeEnd);
  if (end == 0 || end == std::string_view::npos || text.size() > kNameBytesMax) return false;
  if (end + kSchemeEnd.size() == text.size()) return false;
  return std::ranges::all_of(text.substr(0, end), is_letter_or_digit) &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f && c != '*'; });
}

Result<void> check_identity_rule(std::string_view rule) {
  std::string_view plain = rule;
  if (plain.find(kSchemeEnd) != std::string_view::npos) {
    if (plain.ends_with("/*")) plain.remove_suffix(2);
    if (is_uri(plain)) return {};
  } else {
    if (plain.starts_with("*.")) plain.remove_prefix(2);
    if (is_dns_name(plain)) return {};
  }
  return fail(
      ErrorCode::kInvalid,
      "'" + std::string(rule) +
          "' is not an identity; expected a URI (spiffe://prod.example/host-a), all URIs below "
          "a path (spiffe://prod.example/*), a DNS name (host-a.example) or *.example");
}

bool identity_matches(std::string_view rule, std::string_view name) {
  const bool uri = rule.find(kSchemeEnd) != std::string_view::npos;
  if (uri != (name.find(kSchemeEnd) != std::string_view::npos)) return false;
  if (uri) {
    if (!rule.ends_with("/*")) return rule == name;
    rule.remove_suffix(1);  // removes "*" but keeps "/", so that only names below the path match
    return name.size() > rule.size() && name.starts_with(rule);
  }
  if (!rule.starts_with("*.")) return same_without_case(rule, name);
  const size_t dot = name.find('.');
  return dot != 0 && dot != std::string_view::npos &&
         same_without_case(rule.substr(1), name.substr(dot));
}

bool any_identity_matches(std::span<const std::string> rules, std::span<const std::string> names) {
  return std::ranges::any_of(rules, [names](const std::string& rule) {
    return std::ranges::any_of(
        names, [&rule](const std::string& name) { return identity_matches(rule, name); });
  });
}

}  // namespace hat
