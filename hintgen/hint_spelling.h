// SPDX-License-Identifier: Apache-2.0
// hintgen/hint_spelling.h: the words that say for which side (client, server or both) a hint is, in
// the two spellings of hints: the grammar of the HatRPC paper, and Thrift annotations.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hat::hintgen {

enum class HintSide : uint8_t { kBoth, kClient, kServer };

// The words of both spellings; the index of both arrays is a HintSide. For example, `hint:
// key=value;` in the paper's grammar means the same as the annotation `hat.key = "value"`.
inline constexpr std::array<std::string_view, 3> kGroupWords = {"hint", "c_hint", "s_hint"};
inline constexpr std::array<std::string_view, 3> kKeyPrefixes = {"hat.", "hat.client.",
                                                                 "hat.server."};

// Returns the side that `word` stands for in the paper's grammar, or nullopt for any other word.
constexpr std::optional<HintSide> side_of_group(std::string_view word) {
  for (size_t i = 0; i < kGroupWords.size(); ++i) {
    if (kGroupWords[i] == word) return static_cast<HintSide>(i);
  }
  return std::nullopt;
}

// Returns true if an annotation with this key is a hint: the key then begins with "hat.". All other
// annotations belong to other tools.
constexpr bool is_hint_annotation(std::string_view key) { return key.starts_with(kKeyPrefixes[0]); }

struct SidedKey {
  HintSide side;
  std::string key;
};

// Splits the key of an annotation, such as "hat.client.polling", into the side (client) and the key
// of the hint (polling). Returns nullopt if the side is unknown, or if the key of the hint is
// missing.
constexpr std::optional<SidedKey> split_annotation_key(std::string_view annotation_key) {
  for (size_t i = kKeyPrefixes.size(); i-- > 0;) {  // the longer prefixes first
    if (!annotation_key.starts_with(kKeyPrefixes[i])) continue;
    const std::string_view key = annotation_key.substr(kKeyPrefixes[i].size());
    const bool is_side_alone = key == "client" || key == "server";
    if (key.empty() || is_side_alone || key.find('.') != std::string_view::npos) break;
    return SidedKey{static_cast<HintSide>(i), std::string(key)};
  }
  return std::nullopt;
}

inline std::string annotation_key(HintSide side, std::string_view key) {
  return std::string(kKeyPrefixes[static_cast<size_t>(side)]) + std::string(key);
}

}  // namespace hat::hintgen
