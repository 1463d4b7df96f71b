// SPDX-License-Identifier: Apache-2.0
// hintgen/resolve.h: finds the definition of every name in the IDL files, and checks the files
// against Thrift's rules.
//
// Sets the members of the tree that idl.h marks with "set by resolve()". hintgen reports an error
// if the Thrift compiler reports an error, and a warning if that compiler reports a warning.
// hintgen also warns of words that only the compiler's code generators reject. If an included file
// uses a type that no file defines, hintgen only warns, because the Thrift compiler looks up such a
// type only with -r.
#pragma once

#include "config/diagnostics.h"
#include "hintgen/load.h"

namespace hat::hintgen {

inline constexpr size_t kExtendsDepthMax = 64;

void resolve(Idl& idl, Diagnostics& diagnostics);

}  // namespace hat::hintgen
