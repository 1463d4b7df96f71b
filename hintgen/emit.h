// SPDX-License-Identifier: Apache-2.0
// hintgen/emit.h: the manifest of a file, and what each function's plan is.
#pragma once

#include <optional>
#include <string>

#include "config/hints.h"
#include "config/manifest.h"
#include "engine/plan/planner.h"
#include "hintgen/load.h"

namespace hat::hintgen {

// The services of the main file in its order. A service that extends another has the other's
// functions first, and the other's hints where it says nothing itself. Only for files without
// mistakes.
Manifest make_manifest(const Idl& idl);

// The plan of each function and the reason for it, as an aligned table; both sides unless one is
// asked for.
std::string explain(const Manifest& manifest, const engine::HostFacts& host,
                    std::optional<Side> side);

}  // namespace hat::hintgen
