// SPDX-License-Identifier: Apache-2.0
// hintgen/emit.h: makes the manifest of a file, and the table of its functions' plans.
#pragma once

#include <optional>
#include <string>

#include "config/hints.h"
#include "config/manifest.h"
#include "engine/plan/planner.h"
#include "hintgen/load.h"

namespace hat::hintgen {

// Returns the services of the main file in its order. A service that extends another one starts
// with the functions of that service, and inherits the hints that it does not set itself. Call this
// only for files without errors.
Manifest make_manifest(const Idl& idl);

// Returns the plan of each function and the reason for it, as an aligned table. Contains both sides
// if `side` is absent.
std::string explain(const Manifest& manifest, const engine::HostFacts& host,
                    std::optional<Side> side);

}  // namespace hat::hintgen
