// SPDX-License-Identifier: Apache-2.0
// hintgen/rewrite.h: rewrites IDL for tools that do not know HatRPC's grammar.
//
// Both functions change only the hints. Comments, line numbers and all other text stay the same.
// Both functions require a program that was parsed without syntax errors (Program::complete).
#pragma once

#include <string>

#include "hintgen/idl.h"

namespace hat::hintgen {

// Returns the text without its hint groups in the paper's own grammar (`hint: …`).
std::string strip(const Program& program);

// Returns the text with each hint in the paper's own grammar (`hint: …`) rewritten as a Thrift
// annotation, `( hat.… = "…" )`, and added to the annotations that are already there.
std::string annotate(const Program& program);

}  // namespace hat::hintgen
