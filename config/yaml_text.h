// SPDX-License-Identifier: Apache-2.0
// config/yaml_text.h: writes strings to YAML in such a way that every YAML parser reads them as
// strings, and not as numbers or booleans, for example.
//
// yaml-cpp quotes only texts that its own reader would misread. Readers of YAML 1.1, which most
// languages use, read a plain `on` as a boolean, `1:30` as ninety and `2026-11-23` as a date.
//
// Source: https://yaml.org/type/ (YAML 1.1); https://yaml.org/spec/1.2.2/#103-core-schema
#pragma once

#include <yaml-cpp/emitter.h>

#include <string>
#include <string_view>

namespace hat {

// Returns true if some YAML reader would not read the unquoted `text` as a text. Also returns true
// for some texts that every reader reads as texts: quotes never hurt.
bool needs_yaml_quotes(std::string_view text);

// Appends `text` as a key or value, in quotes if necessary.
void emit_yaml_text(YAML::Emitter& out, const std::string& text);

}  // namespace hat
