// SPDX-License-Identifier: Apache-2.0
// config/hint_values.h: converts one hint between its text, as spelled in IDL and YAML, and its
// value.
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

// Returns true if `key` is a key of config/hint_keys.h or an older spelling of one.
bool is_hint_key(std::string_view key);

// Sets the member of `hints` that `key` names to `value`. The text of an error contains `value`,
// the expected values, and the valid word that is most similar to `value`. The text contains no
// source location; the caller adds the location.
Result<void> set_hint(Hints& hints, std::string_view key, std::string_view value);

// Returns the key and the value of every hint that is set, in the order of config/hint_keys.h.
// set_hint() converts these pairs back to the same hints.
std::vector<std::pair<std::string, std::string>> hint_words(const Hints& hints);

// Parses a number of bytes: "512", "128KiB", "4MiB", "1GiB". Returns nullopt for any other text,
// and if the number overflows.
std::optional<uint64_t> parse_bytes(std::string_view text);

}  // namespace hat
