// SPDX-License-Identifier: Apache-2.0
// config/names.h: reads names of services, functions and nodes.
//
// Bounds   1 to kConfigNameBytesMax bytes: what a link's hello and the head of a message can hold.
// Errors   are added to the value's `mistakes`; the functions then return nullopt.
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
// As read_node_name(), but also accepts "$VARIABLE": the name is then the value of this environment
// variable, so that many hosts can share one file.
std::optional<std::string> read_own_name(const YamlValue& value, std::string_view what);

}  // namespace hat
