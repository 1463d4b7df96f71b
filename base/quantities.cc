// SPDX-License-Identifier: Apache-2.0
#include "base/quantities.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <string_view>

namespace hat {
namespace {

// Returns the value as text with at most three significant digits, but always with all digits
// before the decimal point. Zeros at the end of the fraction are omitted.
std::string three_digits(double value) {
  const int decimals = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.*f", decimals, value);
  std::string digits = text.data();
  if (digits.find('.') != std::string::npos) {
    digits.erase(digits.find_last_not_of('0') + 1);
    if (digits.back() == '.') digits.pop_back();
  }
  return digits;
}

template <size_t Count>
std::string scaled(double value, double step, const std::array<std::string_view, Count>& units) {
  size_t unit = 0;
  // Changes to the next unit also if rounding would show `step` of this unit, such as 1000 µs.
  while (unit + 1 < Count && value >= step - 0.5) {
    value /= step;
    ++unit;
  }
  return three_digits(value) + std::string(units[unit]);
}

std::string two_units(uint64_t large, const char* large_unit, uint64_t small,
                      const char* small_unit) {
  return std::to_string(large) + large_unit +
         (small == 0 ? "" : " " + std::to_string(small) + small_unit);
}

}  // namespace

std::string count_text(double count) {
  if (count < 9999.5) return three_digits(count);
  return scaled(count, 1000, std::array<std::string_view, 5>{"", "k", "M", "G", "T"});
}

std::string size_text(uint64_t bytes) {
  return scaled(static_cast<double>(bytes), 1024,
                std::array<std::string_view, 5>{" B", " KiB", " MiB", " GiB", " TiB"});
}

std::string exact_size_text(uint64_t bytes) {
  constexpr std::array<std::string_view, 4> kUnits = {"B", "KiB", "MiB", "GiB"};
  size_t unit = 0;
  while (unit + 1 < kUnits.size() && bytes != 0 && bytes % 1024 == 0) {
    bytes /= 1024;
    ++unit;
  }
  return std::to_string(bytes) + std::string(kUnits[unit]);
}

std::string time_text(double microseconds) {
  return scaled(microseconds, 1000, std::array<std::string_view, 3>{" µs", " ms", " s"});
}

std::string nanoseconds_text(double ns) {
  return ns < 1000 ? count_text(ns) + " ns" : time_text(ns / 1000);
}

std::string age_text(double seconds) {
  const auto whole = static_cast<uint64_t>(seconds < 0 ? 0 : seconds);
  if (whole < 60) return std::to_string(whole) + " s";
  if (whole < 3600) return two_units(whole / 60, " min", whole % 60, " s");
  if (whole < 86400) return two_units(whole / 3600, " h", whole / 60 % 60, " min");
  return two_units(whole / 86400, " d", whole / 3600 % 24, " h");
}

std::string plural(uint64_t count, const std::string& word) {
  return std::to_string(count) + " " + word + (count == 1 ? "" : "s");
}

}  // namespace hat
