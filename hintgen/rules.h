// SPDX-License-Identifier: Apache-2.0
// hintgen/rules.h: checks the definitions of one IDL file against Thrift's rules. Call
// check_rules() after every name in the file is linked to its definition.
#pragma once

#include "hintgen/report.h"
#include "hintgen/scope.h"

namespace hat::hintgen {

void check_rules(const Program& program, const Scopes& scopes, Report& report);

// Returns the type for which `type` stands after all typedefs are followed (`type` itself if it is
// not a typedef), or nullptr if that type is unknown.
const Type* meaning_of(const Type& type);

}  // namespace hat::hintgen
