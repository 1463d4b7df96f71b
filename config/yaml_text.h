// SPDX-License-Identifier: Apache-2.0
// config/yaml_text.h: writes texts so that every YAML reader reads texts.
//
// yaml-cpp quotes only what its own reader would misread. Readers of YAML 1.1, which most languages
// have, take a plain `on` for a boolean, `1:30` for ninety and `2026-11-23` for a date.
//
// Source: https://yaml.org/type/ (YAML 1.1); https://yaml.org/spec/1.2.2/#103-core-schema
#pragma once

#include <yaml-cpp/emitter.h>

#include <string>
#include <string_view>

namespace hat {

// True if some YAML reader takes `text`, written without quotes, for something else than a text. A
// few texts for which that does not hold are included: quotes never hurt.
bool needs_yaml_quotes(std::string_view text);

// Appends `text` as a key or value, in quotes if it needs them.
void emit_yaml_text(YAML::Emitter& out, const std::string& text);

}  // namespace hat
