// SPDX-License-Identifier: Apache-2.0
// hintgen/nearest_name.h: proposes a defined name in place of one that is not defined.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hintgen/idl.h"

namespace hat::hintgen {

enum class NameOf : uint8_t { kType, kService, kValue };

// " (did you mean 'shared.Point'?)" where `from`, or a file that it includes, has a name near the
// `unknown` one, else "". Names are spelled as `from` must write them.
std::string nearest_name(const Program& from, NameOf wanted, std::string_view unknown);

// The same where only `names` could be meant.
std::string nearest_name(const std::vector<std::string_view>& names, std::string_view unknown);

}  // namespace hat::hintgen
