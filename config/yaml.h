// SPDX-License-Identifier: Apache-2.0
// config/yaml.h: reads YAML with the library yaml-cpp. The caller lists the keys of a mapping in a
// table, and every value keeps its source location (file, line and column).
//
// Each function adds the errors in its input to the Diagnostics and continues. A function that
// returns an optional returns nullopt if it added an error. Files over kYamlBytesMax are rejected
// without parsing.
#pragma once

#include <yaml-cpp/yaml.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/address.h"
#include "config/diagnostics.h"

namespace hat {

inline constexpr size_t kYamlBytesMax = 4 * 1024 * 1024;

// A value in a YAML document, with the file and the Diagnostics for reporting errors in the value.
struct YamlValue {
  YAML::Node node;
  const std::string* file = nullptr;
  Diagnostics* diagnostics = nullptr;

  SourceLocation location() const;
  void error(std::string message) const { diagnostics->error(location(), std::move(message)); }
};

// Parses `text`, the contents of `file`. `file` and `diagnostics` must exist as long as the result.
std::optional<YamlValue> parse_yaml(const std::string& text, const std::string& file,
                                    Diagnostics& diagnostics);

// Returns the text of a file. Adds an error if the file cannot be read.
std::optional<std::string> read_file(const std::string& file, Diagnostics& diagnostics);

struct YamlKey {
  std::string_view name;
  bool required;
  std::function<void(const YamlValue&)> read;
};

// Reads a mapping: calls the reader of each key. Adds an error for an unknown key, for a key that
// appears twice, and for a required key that is missing. `what` is the name of the mapping in
// messages, for example "endpoint".
void read_keys(const YamlValue& value, std::string_view what, const std::vector<YamlKey>& keys);

// Reads a mapping whose keys are names that the user has chosen: calls `read` for each pair.
void read_names(const YamlValue& value, std::string_view what,
                const std::function<void(const std::string& name, const YamlValue& key,
                                         const YamlValue& value)>& read);

// Reads a sequence: calls `read` for each item.
void read_items(const YamlValue& value, std::string_view what,
                const std::function<void(const YamlValue&)>& read);

// Returns `text` in quotes for messages, cut off after 60 bytes.
std::string in_quotes(std::string_view text);

// --- Functions that read a scalar. The parameter `what` is the name of the key in messages. ---

std::optional<std::string> read_text(const YamlValue& value, std::string_view what);
std::optional<bool> read_bool(const YamlValue& value, std::string_view what);
std::optional<int64_t> read_number(const YamlValue& value, std::string_view what, int64_t min,
                                   int64_t max);
// Returns the index of the value in `words`.
std::optional<size_t> read_word(const YamlValue& value, std::string_view what,
                                const std::vector<std::string_view>& words);
// Returns the value of an environment variable. `variable` has the form "$NAME".
std::optional<std::string> look_up(const YamlValue& value, std::string_view what,
                                   const std::string& variable);
// Reads an address. The host of a tcp address can be an environment variable ("$NAME"), so that
// many hosts can share one file.
std::optional<Address> read_address(const YamlValue& value, std::string_view what);
// Reads an address, in the same way, from `text`, which comes from the value.
std::optional<Address> read_address_in(const YamlValue& value, std::string_view what,
                                       const std::string& text);
// Reads one identity rule (config/identity.h).
std::optional<std::string> read_identity_rule(const YamlValue& value, std::string_view what);
// Reads a list of at least one identity rule.
std::vector<std::string> read_identity_rules(const YamlValue& value, std::string_view what);
// Reads a size with a unit: 128KiB, 1GiB.
std::optional<uint64_t> read_bytes(const YamlValue& value, std::string_view what, uint64_t min,
                                   uint64_t max);
// Reads a duration with a unit: 50us, 250ms, 1s, 2min.
std::optional<std::chrono::nanoseconds> read_duration(const YamlValue& value, std::string_view what,
                                                      std::chrono::nanoseconds min,
                                                      std::chrono::nanoseconds max);
std::string duration_text(std::chrono::nanoseconds duration);

}  // namespace hat
