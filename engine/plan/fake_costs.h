// SPDX-License-Identifier: Apache-2.0
// engine/plan/fake_costs.h: costs of RDMA operations that change plans, for tests.
#pragma once

#include <memory>
#include <vector>

#include "config/component_costs.h"

namespace hat::engine {

// Returns costs by which direct_write_imm is faster than hybrid_eager_rndv for messages of 16 KiB:
// WRITEs are cheap.
inline std::shared_ptr<const ComponentCosts> cheap_writes() {
  const std::vector<SizedCost> cheap = {{8, 100}, {16'384, 3'000}, {65'536, 12'000}};
  return std::make_shared<ComponentCosts>(ComponentCosts{.fabric = "loop",
                                                         .put = cheap,
                                                         .get = cheap,
                                                         .message = {{8, 4'000}, {65'536, 30'000}},
                                                         .wake_up_ns = 5'000,
                                                         .registration = {},
                                                         .copy = cheap});
}

}  // namespace hat::engine
