// SPDX-License-Identifier: Apache-2.0
// hintgen/resolve.h: finds what every name means, and holds the files to Thrift's rules.
//
// Fills what idl.h calls resolved, but for hints. What the stock compiler refuses is an error, what
// it warns of is a warning; words that only its generators refuse are warnings too. So is a type
// that an included file uses but nothing defines, since the stock compiler looks for it only with
// -r.
#pragma once

#include "config/mistakes.h"
#include "hintgen/load.h"

namespace hat::hintgen {

inline constexpr size_t kExtendsDepthMax = 64;

void resolve(Idl& idl, Mistakes& mistakes);

}  // namespace hat::hintgen
