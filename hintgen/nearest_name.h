// SPDX-License-Identifier: Apache-2.0
// hintgen/nearest_name.h: finds a defined name that is similar to an undefined (misspelt) name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hintgen/idl.h"

namespace hat::hintgen {

enum class NameOf : uint8_t { kType, kService, kValue };

// Returns " (did you mean 'shared.Point'?)" if `from`, or a file that it includes, defines a name
// similar to `unknown`, else "". The name is spelled as `from` must write it.
std::string nearest_name(const Program& from, NameOf wanted, std::string_view unknown);

// Returns " (did you mean 'NAME'?)" if one of `names` is similar to `unknown`, else "".
std::string nearest_name(const std::vector<std::string_view>& names, std::string_view unknown);

}  // namespace hat::hintgen
