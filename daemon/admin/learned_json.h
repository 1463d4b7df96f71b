// SPDX-License-Identifier: Apache-2.0
// daemon/admin/learned_json.h: what was learned about the functions with `plan: learned`, as a part
// of the answer of /routes.
#pragma once

#include <nlohmann/json.hpp>
#include <span>

#include "daemon/admin/control.h"

namespace hat {

// Returns one element for each worker and peer that calls of `route` have used: {worker, peer,
// choice, kept, searching, trials, changes, noise, measures, costs: [{choice, ns}]}.
nlohmann::json learned_json(const Route& route, std::span<const LearnedReport> learned);

}  // namespace hat
