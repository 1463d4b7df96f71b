// SPDX-License-Identifier: Apache-2.0
// config/names.h: reads names of services, functions and nodes from YAML values. The argument
// `what` is the name of the key, for error messages.
//
// Bounds   A name has 1 to kConfigNameBytesMax bytes, because the hello of a link and the head of a
//          message cannot hold longer names.
// Errors   An error is added to the diagnostics of the value; the function then returns nullopt.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "config/yaml.h"

namespace hat {

inline constexpr size_t kConfigNameBytesMax = 255;

// Reads a name as Thrift's IDL spells it: letters, digits, '_' and '.'; the first is a letter or
// '_'.
std::optional<std::string> read_identifier(const YamlValue& value, std::string_view what);
// Reads a name in the form of a host name: letters, digits, '.', '-' and '_'.
std::optional<std::string> read_node_name(const YamlValue& value, std::string_view what);
// Reads a name as read_node_name() does, but also accepts "$VARIABLE". The name is then the value
// of this environment variable, so that many hosts can share one file.
std::optional<std::string> read_own_name(const YamlValue& value, std::string_view what);

}  // namespace hat
