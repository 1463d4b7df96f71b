// SPDX-License-Identifier: Apache-2.0
// hatctl/shown_text.h: texts in hatrpcd's answers as a terminal may get them. Names of peers and
// errors in them can come from other hosts.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "base/printable.h"

namespace hat::hatctl {

// Returns the text `value` with a question mark in place of each control character.
inline std::string shown_text(const nlohmann::json& value) {
  return printable(value.get<std::string>());
}

}  // namespace hat::hatctl
