// SPDX-License-Identifier: Apache-2.0
#include "kv/cli/text.h"

#include <array>

#include "base/number.h"

namespace hat {
namespace {

struct ShortEscape {
  char byte;
  char letter;
};
constexpr std::array kShortEscapes = {ShortEscape{'\\', '\\'}, ShortEscape{'\t', 't'},
                                      ShortEscape{'\n', 'n'}, ShortEscape{'\r', 'r'}};

bool is_control(char byte) { return static_cast<unsigned char>(byte) < 0x20 || byte == 0x7f; }

}  // namespace

std::string escape(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size());
  for (const char byte : bytes) {
    const ShortEscape* found = nullptr;
    for (const ShortEscape& one : kShortEscapes) {
      if (one.byte == byte) found = &one;
    }
    if (found != nullptr) {
      text += {'\\', found->letter};
    } else if (is_control(byte)) {
      text += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
    } else {
      text += byte;
    }
  }
  return text;
}

Result<std::string> unescape(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size());
  while (!text.empty()) {
    if (text[0] != '\\') {
      bytes += text[0];
      text.remove_prefix(1);
      continue;
    }
    const char letter = text.size() > 1 ? text[1] : '\0';
    const auto byte = letter == 'x' && text.size() >= 4
                          ? parse_number<uint8_t>(text.substr(2, 2), 16)
                          : std::optional<uint8_t>();
    const ShortEscape* found = nullptr;
    for (const ShortEscape& one : kShortEscapes) {
      if (one.letter == letter) found = &one;
    }
    if (!byte && found == nullptr) {
      return fail(ErrorCode::kInvalid,
                  "'" + std::string(text.substr(0, 4)) +
                      "' is not a valid escape; use \\\\, \\t, \\n, \\r or \\xHH");
    }
    bytes += byte ? static_cast<char>(*byte) : found->byte;
    text.remove_prefix(byte ? 4 : 2);
  }
  return bytes;
}

Result<std::pair<std::string, std::string>> parse_pair(std::string_view line) {
  const size_t tab = line.find('\t');
  if (tab == std::string_view::npos)
    return fail(ErrorCode::kInvalid, "the line has no tab between key and value");
  HAT_TRY(auto key, unescape(line.substr(0, tab)));
  HAT_TRY(auto value, unescape(line.substr(tab + 1)));
  return std::pair(std::move(key), std::move(value));
}

}  // namespace hat
