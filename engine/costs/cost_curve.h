// SPDX-License-Identifier: Apache-2.0
// engine/costs/cost_curve.h: interpolates the measured costs of RDMA operations by size.
#pragma once

#include <cstdint>
#include <span>

#include "config/component_costs.h"

namespace hat::engine {

// Returns the cost in nanoseconds of an operation on `bytes` bytes, from measured costs. A size
// between two measured sizes is interpolated linearly. A size above the largest measured size is
// extrapolated from the two largest sizes, but the result is never below 0. A size below the
// smallest measured size has the cost of the smallest size. `costs` must be sorted by size; if
// `costs` is empty, the result is 0.
double cost_of(std::span<const SizedCost> costs, uint32_t bytes);

}  // namespace hat::engine
