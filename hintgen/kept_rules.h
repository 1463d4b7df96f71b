// SPDX-License-Identifier: Apache-2.0
// hintgen/kept_rules.h: keeps the access rules that people write into a manifest (`allow`,
// `allow_mode`, `allow_unknown_fields`). No IDL contains them, so a regenerated manifest must keep
// them: silently losing a rule would allow every caller.
#pragma once

#include <string>

#include "base/result.h"
#include "config/manifest.h"

namespace hat::hintgen {

// Copies the rules in the file at `path`, if it exists, to the services and functions of the same
// names in `manifest`. Fails if the file has a rule for a service or function that `manifest`
// lacks, or if the file seems to have rules but cannot be read.
Result<void> keep_rules(const std::string& path, Manifest& manifest);

}  // namespace hat::hintgen
