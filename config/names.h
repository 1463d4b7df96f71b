// SPDX-License-Identifier: Apache-2.0
// config/names.h: reads names: of services and functions, and of nodes.
//
// Bounds   1 to kConfigNameBytesMax bytes: what a link's hello and a message's head have room for.
// Errors   told to the value's mistakes; nothing is returned then.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "config/yaml.h"

namespace hat {

inline constexpr size_t kConfigNameBytesMax = 255;

// As Thrift's IDL spells them: letters, digits, '_' and '.', the first a letter or '_'.
std::optional<std::string> read_identifier(const YamlValue& value, std::string_view what);
// As hosts are named: letters, digits, '.', '-' and '_'.
std::optional<std::string> read_node_name(const YamlValue& value, std::string_view what);
// The same, or "$VARIABLE": what the environment says, so that one file does for many hosts.
std::optional<std::string> read_own_name(const YamlValue& value, std::string_view what);

}  // namespace hat
