// SPDX-License-Identifier: Apache-2.0
// hintgen/rules.h: holds the definitions of one file to Thrift's rules, once its names are linked.
#pragma once

#include "hintgen/report.h"
#include "hintgen/scope.h"

namespace hat::hintgen {

void check_rules(const Program& program, const Scopes& scopes, Report& report);

// The type behind all typedefs; null where it is unknown.
const Type* meaning_of(const Type& type);

}  // namespace hat::hintgen
