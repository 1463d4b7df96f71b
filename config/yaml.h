// SPDX-License-Identifier: Apache-2.0
// config/yaml.h: YAML (yaml-cpp) read by tables of keys, with the place of everything.
//
// Each function below adds to the Mistakes what it finds wrong and goes on; an optional result is
// empty where it added one. Files over kYamlBytesMax are refused unread.
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
#include "config/mistakes.h"

namespace hat {

inline constexpr size_t kYamlBytesMax = 4 * 1024 * 1024;

// A node of a document, and where to complain.
struct YamlValue {
  YAML::Node node;
  const std::string* file = nullptr;
  Mistakes* mistakes = nullptr;

  Place place() const;
  void error(std::string message) const { mistakes->error(place(), std::move(message)); }
};

// A whole text. `file` and `mistakes` outlive what is returned.
std::optional<YamlValue> parse_yaml(const std::string& text, const std::string& file,
                                    Mistakes& mistakes);

// A file's text; a mistake where it cannot be read.
std::optional<std::string> read_file(const std::string& file, Mistakes& mistakes);

struct YamlKey {
  std::string_view name;
  bool required;
  std::function<void(const YamlValue&)> read;
};

// A mapping with known keys: unknown, doubled and missing ones are mistakes. `what` names the
// mapping in messages: "endpoint".
void read_keys(const YamlValue& value, std::string_view what, const std::vector<YamlKey>& keys);

// A mapping whose keys are names that people choose.
void read_names(const YamlValue& value, std::string_view what,
                const std::function<void(const std::string& name, const YamlValue& key,
                                         const YamlValue& value)>& read);

// A sequence.
void read_items(const YamlValue& value, std::string_view what,
                const std::function<void(const YamlValue&)>& read);

// Scalars. `what` is the key's name.
// As messages show it: in quotes, and not too long.
std::string in_quotes(std::string_view text);
std::optional<std::string> read_text(const YamlValue& value, std::string_view what);
std::optional<bool> read_bool(const YamlValue& value, std::string_view what);
std::optional<int64_t> read_number(const YamlValue& value, std::string_view what, int64_t min,
                                   int64_t max);
std::optional<size_t> read_word(const YamlValue& value, std::string_view what,
                                const std::vector<std::string_view>& words);
// What the environment says for "$NAME".
std::optional<std::string> look_up(const YamlValue& value, std::string_view what,
                                   const std::string& variable);
// The host of a tcp address may be "$NAME", so that one file does for many hosts.
std::optional<Address> read_address(const YamlValue& value, std::string_view what);
// Whom a certificate must name: config/identity.h. A list of rules has at least one.
std::optional<std::string> read_identity_rule(const YamlValue& value, std::string_view what);
std::vector<std::string> read_identity_rules(const YamlValue& value, std::string_view what);
// With a unit: 128KiB, 1GiB.
std::optional<uint64_t> read_bytes(const YamlValue& value, std::string_view what, uint64_t min,
                                   uint64_t max);
// With a unit: 50us, 250ms, 1s, 2min.
std::optional<std::chrono::nanoseconds> read_duration(const YamlValue& value, std::string_view what,
                                                      std::chrono::nanoseconds min,
                                                      std::chrono::nanoseconds max);
std::string duration_text(std::chrono::nanoseconds duration);

}  // namespace hat
