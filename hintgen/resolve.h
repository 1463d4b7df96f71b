// SPDX-License-Identifier: Apache-2.0
// hintgen/resolve.h: finds the definition of every name in the IDL files, and checks the files
// against Thrift's rules.
//
// Sets the members that idl.h calls resolved, except the hints. If the stock Thrift compiler
// reports an error, hintgen reports an error; the same holds for warnings. hintgen also warns of
// words that only the code generators of the stock compiler reject. If an included file uses a type
// that no file defines, hintgen only warns, because the stock compiler looks up such a type only
// with -r.
#pragma once

#include "config/diagnostics.h"
#include "hintgen/load.h"

namespace hat::hintgen {

inline constexpr size_t kExtendsDepthMax = 64;

void resolve(Idl& idl, Diagnostics& diagnostics);

}  // namespace hat::hintgen
