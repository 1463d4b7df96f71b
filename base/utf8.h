// SPDX-License-Identifier: Apache-2.0
// base/utf8.h: checks whether a text is UTF-8 (RFC 3629: no overlong forms, no surrogates, no code
// points above U+10FFFF).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace hat {

// Returns the length in bytes of the first character of `text`, or 0 if `text` does not begin with
// a valid character.
inline size_t utf8_character_bytes(std::string_view text) {
  if (text.empty()) return 0;
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  if (first < 0xc2 || first > 0xf4) return 0;
  const size_t bytes = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  if (text.size() < bytes) return 0;
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  // Rejects overlong forms, surrogates, and code points above U+10FFFF.
  if (first == 0xe0 && byte(1) < 0xa0) return 0;
  if (first == 0xed && byte(1) > 0x9f) return 0;
  if (first == 0xf0 && byte(1) < 0x90) return 0;
  if (first == 0xf4 && byte(1) > 0x8f) return 0;
  return bytes;
}

inline bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    uint64_t eight = 0x80;  // eight bytes are checked at once, because most texts are ASCII
    if (text.size() >= sizeof(eight)) std::memcpy(&eight, text.data(), sizeof(eight));
    const bool are_ascii = (eight & 0x8080808080808080) == 0;
    const size_t bytes = are_ascii ? sizeof(eight) : utf8_character_bytes(text);
    if (bytes == 0) return false;
    text.remove_prefix(bytes);
  }
  return true;
}

}  // namespace hat
