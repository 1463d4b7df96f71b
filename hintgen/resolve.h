// SPDX-License-Identifier: Apache-2.0
// hintgen/resolve.h: resolves every name, and checks the files against Thrift's rules.
//
// Sets the members that idl.h calls resolved, except the hints. An error of the stock compiler is
// an error here, and a warning of the stock compiler is a warning. Words that only its generators
// reject are also warnings. A type that an included file uses but no file defines is a warning too,
// since the stock compiler looks it up only with -r.
#pragma once

#include "config/diagnostics.h"
#include "hintgen/load.h"

namespace hat::hintgen {

inline constexpr size_t kExtendsDepthMax = 64;

void resolve(Idl& idl, Diagnostics& diagnostics);

}  // namespace hat::hintgen
