// SPDX-License-Identifier: Apache-2.0
// hintgen/emit.h: makes the manifest (functions and hints) of an IDL file, and a table of the plans
// that the planner makes from the hints.
#pragma once

#include <optional>
#include <string>

#include "config/hints.h"
#include "config/manifest.h"
#include "engine/plan/planner.h"
#include "hintgen/load.h"

namespace hat::hintgen {

// Returns a manifest with the services of the main file, in the order of the file. If a service
// extends a parent service, the functions of the parent come first, and the service inherits the
// parent's hints that it does not set itself. Call this function only for files without errors.
Manifest make_manifest(const Idl& idl);

// Returns a table with the plan (protocol and polling) of each function on `host`, and the reason
// for the plan. If `side` is nullopt, the table has the plans of both sides, client and server.
// Appends warnings of hints that change nothing on `host`, or that only some hosts can honour.
std::string explain(const Manifest& manifest, const engine::HostFacts& host,
                    std::optional<Side> side);

}  // namespace hat::hintgen
