// SPDX-License-Identifier: Apache-2.0
// hintgen/dump.h: writes the tree of a parsed IDL file as JSON, for scripts and tests.
#pragma once

#include <string>

#include "hintgen/idl.h"

namespace hat::hintgen {

// Returns one object: name, includes, cpp_includes, namespaces, enums, typedefs, structs,
// constants, services. Types are spelled as in the IDL, without annotations and cpp_type.
std::string dump_json(const Program& program);

}  // namespace hat::hintgen
