// SPDX-License-Identifier: Apache-2.0
// base/printable.h: makes text from untrusted input safe for a log, a terminal or a web page: the
// result cannot begin a new line and cannot control a terminal.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/utf8.h"

namespace hat {

// Returns the length in bytes of the first character of `text` if the character is printable, else
// 0. Control characters are not printable, except a tab.
inline size_t printable_bytes(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const size_t count = utf8_character_bytes(text);
  if (count == 1) return byte(0) == '\t' || (byte(0) >= 0x20 && byte(0) != 0x7f) ? 1 : 0;
  return count == 2 && byte(0) == 0xc2 && byte(1) < 0xa0 ? 0 : count;
}

// Returns `text` with a question mark in place of each byte that does not belong to a printable
// character. The result has at most `bytes_max` bytes and ends with a whole character.
inline std::string printable(std::string_view text, size_t bytes_max = std::string::npos) {
  std::string shown;
  while (!text.empty()) {
    const size_t count = printable_bytes(text);
    const size_t taken = std::max<size_t>(count, 1);
    if (shown.size() + taken > bytes_max) break;
    shown += count == 0 ? "?" : text.substr(0, count);
    text.remove_prefix(taken);
  }
  return shown;
}

}  // namespace hat
