// SPDX-License-Identifier: Apache-2.0
// hintgen/rewrite.h: rewrites IDL for tools that do not know HatRPC's grammar.
//
// Both functions change only the hints. Comments, line numbers and all other text stay the same.
// Both functions require a program that was parsed without syntax errors (Program::complete).
#pragma once

#include <string>

#include "hintgen/idl.h"

namespace hat::hintgen {

// Returns the text without the hint groups in the grammar of the HatRPC paper (`hint: …`).
std::string strip(const Program& program);

// Returns the text with each hint in the grammar of the HatRPC paper (`hint: …`) replaced by a
// Thrift annotation, `( hat.… = "…" )`, which is added to the existing annotations.
std::string annotate(const Program& program);

}  // namespace hat::hintgen
