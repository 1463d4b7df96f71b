// SPDX-License-Identifier: Apache-2.0
// hintgen/kept_rules.h: what people write into a manifest and no IDL has: who may call (`allow`,
// `allow_mode`, `allow_unknown_fields`). A manifest that is written anew keeps it: a rule that is
// lost in silence lets everybody in.
#pragma once

#include <string>

#include "base/result.h"
#include "config/manifest.h"

namespace hat::hintgen {

// Gives services and functions of `manifest` the rules that those of the same names have in the
// file at `path`, if one is there. Errors: it has a rule for what `manifest` lacks, or seems to
// have one and cannot be read.
Result<void> keep_rules(const std::string& path, Manifest& manifest);

}  // namespace hat::hintgen
