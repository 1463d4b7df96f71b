// SPDX-License-Identifier: Apache-2.0
// engine/costs/cost_curve.h: what a size costs by measured component costs, and how those are
// printed.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "config/component_costs.h"

namespace hat::engine {

// Between what was measured, on the straight line; beyond it, by the last line's slope, never below
// 0. `costs` by rising size; 0 where there are none.
double cost_of(std::span<const SizedCost> costs, uint32_t bytes);

// One object, without a line break:
//   {"fabric": "loop", "put": [{"bytes": 8, "ns": 61.2}, …], …, "compare_swap_ns": 70.1, …}
std::string to_json(const ComponentCosts& costs);

}  // namespace hat::engine
