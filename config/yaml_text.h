// SPDX-License-Identifier: Apache-2.0
// config/yaml_text.h: writes strings to YAML in such a way that every YAML parser reads them as
// strings, and not as numbers or booleans, for example.
//
// The library yaml-cpp quotes only texts that its own parser would misread. That is not enough:
// most languages have parsers of YAML 1.1, which read an unquoted `on` as a boolean, `1:30` as the
// number 90, and `2026-11-23` as a date.
//
// Source: https://yaml.org/type/ (YAML 1.1); https://yaml.org/spec/1.2.2/#103-core-schema
#pragma once

#include <yaml-cpp/emitter.h>

#include <string>
#include <string_view>

namespace hat {

// Returns true if some YAML parser would not read `text` as a string without quotes. Can also
// return true for other texts, because unnecessary quotes do no harm.
bool needs_yaml_quotes(std::string_view text);

// Writes `text` to `out` as a key or value, in quotes if needs_yaml_quotes() returns true.
void emit_yaml_text(YAML::Emitter& out, const std::string& text);

}  // namespace hat
