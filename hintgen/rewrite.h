// SPDX-License-Identifier: Apache-2.0
// hintgen/rewrite.h: the same IDL for readers that do not know HatRPC's grammar.
//
// Both change only what they must: comments, line numbers and everything else stay as they are.
#pragma once

#include <string>

#include "hintgen/idl.h"

namespace hat::hintgen {

// Without the native hint groups. Only for a complete program.
std::string strip(const Program& program);

// With the native hints as `( hat.… = "…" )` annotations, joined with those that are there.
std::string annotate(const Program& program);

}  // namespace hat::hintgen
