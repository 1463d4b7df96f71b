// SPDX-License-Identifier: Apache-2.0
// hintgen/kept_rules.h: keeps the access rules (`allow`, `allow_mode`, `allow_unknown_fields`) when
// hintgen writes a manifest again. People write these rules into the manifest, and no IDL file
// contains them. A rule that is lost without notice would allow every caller.
#pragma once

#include <string>

#include "base/result.h"
#include "config/manifest.h"

namespace hat::hintgen {

// Copies the rules from the manifest file at `path`, if this file exists, to the services and
// functions with the same names in `manifest`. Returns an error if the file has a rule for a
// service or function that `manifest` lacks, or if the file seems to have rules but is not a valid
// manifest.
Result<void> keep_rules(const std::string& path, Manifest& manifest);

}  // namespace hat::hintgen
