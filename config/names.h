// SPDX-License-Identifier: Apache-2.0
// config/names.h: names of services, functions and nodes: reads them from YAML values, and lists
// them in messages. The parameter `what` of a function that reads is the name of the key, for error
// messages.
//
// Bounds   A name has 1 to kConfigNameBytesMax bytes, because the hello of a link and the head of a
//          message have no space for longer names.
// Errors   If a name is invalid, the function adds an error to the diagnostics of the value, and
//          returns nullopt.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/yaml.h"

namespace hat {

inline constexpr size_t kConfigNameBytesMax = 255;

// Reads a name in the form of Thrift's IDL: letters, digits, '_' and '.'; it begins with a letter
// or '_'.
std::optional<std::string> read_identifier(const YamlValue& value, std::string_view what);
// Reads a name in the form of a host name: letters, digits, '.', '-' and '_'.
std::optional<std::string> read_node_name(const YamlValue& value, std::string_view what);
// Reads a name as read_node_name() does, but also accepts "$VARIABLE" for the value of an
// environment variable, so that many hosts can share one file.
std::optional<std::string> read_own_name(const YamlValue& value, std::string_view what);

// Names a few of `names`, and counts the others: "a, b, c, d and 2 more".
std::string names_text(const std::vector<std::string>& names);

}  // namespace hat
