// SPDX-License-Identifier: Apache-2.0
// config/names.h: reads names of services, functions and nodes from YAML values. The parameter
// `what` of each function is the name of the key, for error messages.
//
// Bounds   A name has 1 to kConfigNameBytesMax bytes, because the hello of a link and the head of a
//          message have no space for longer names.
// Errors   If a name is invalid, the function adds an error to the diagnostics of the value, and
//          returns nullopt.
#pragma once

#include <optional>
#include <string>
#include <string_view>

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

}  // namespace hat
