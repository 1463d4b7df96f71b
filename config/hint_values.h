// SPDX-License-Identifier: Apache-2.0
// config/hint_values.h: one hint as text, as IDL and YAML spell it, and as a value.
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

// True for the keys of config/hint_keys.h, older spellings included.
bool is_hint_key(std::string_view key);

// Sets the member that `key` names. The error says what was found, what was expected, and the
// nearest valid word; it names no place, which the caller knows.
Result<void> set_hint(Hints& hints, std::string_view key, std::string_view value);

// Key and value of every hint that is said, in the order of config/hint_keys.h; set_hint() reads
// them back as the same.
std::vector<std::pair<std::string, std::string>> hint_words(const Hints& hints);

// "512", "128KiB", "4MiB", "1GiB": bytes. nullopt for anything else, and for what overflows.
std::optional<uint64_t> parse_bytes(std::string_view text);
std::string bytes_text(uint64_t bytes);  // in the largest unit that divides it

}  // namespace hat
