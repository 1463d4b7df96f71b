// SPDX-License-Identifier: Apache-2.0
// engine/costs/cost_curve.h: interpolates measured component costs by size; prints them as JSON.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "config/component_costs.h"

namespace hat::engine {

// Returns the cost of `bytes`: between two measured sizes on the straight line; above the largest
// by the slope of the last line, but never below 0; below the smallest the smallest size's cost.
// `costs` must be sorted by size. Returns 0 if it is empty.
double cost_of(std::span<const SizedCost> costs, uint32_t bytes);

// Returns one JSON object without a line break:
//   {"fabric": "loop", "put": [{"bytes": 8, "ns": 61.2}, …], …, "compare_swap_ns": 70.1, …}
std::string to_json(const ComponentCosts& costs);

}  // namespace hat::engine
