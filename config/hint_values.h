// SPDX-License-Identifier: Apache-2.0
// config/hint_values.h: converts a hint from text, as in IDL and YAML files, to a value, and back.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "config/hints.h"

namespace hat {

// Returns true if `key` is a key in config/hint_keys.h, or the older spelling of such a key.
bool is_hint_key(std::string_view key);

// Sets the member of `hints` that `key` names to `value`. An error contains `value`, the expected
// values, and the valid word that is most similar to `value`. The caller must add the source
// location to the error.
Result<void> set_hint(Hints& hints, std::string_view key, std::string_view value);

// Clears the member of `hints` that `key` names. An unknown key is an error, as in set_hint().
Result<void> clear_hint(Hints& hints, std::string_view key);

// Returns the value of the hint `key` as a text that set_hint() accepts. Returns nullopt if the
// hint is not set, or if the key is unknown.
std::optional<std::string> hint_value(const Hints& hints, std::string_view key);

// Returns the key and the value of every hint that is set, as texts that set_hint() accepts, in the
// order of config/hint_keys.h.
std::vector<std::pair<std::string, std::string>> hint_words(const Hints& hints);

// Parses a number of bytes: "512", "512B", "128KiB", "4MiB", "1GiB". Returns nullopt if `text` is
// not such a number, or if the number of bytes exceeds 64 bits.
std::optional<uint64_t> parse_bytes(std::string_view text);

}  // namespace hat
