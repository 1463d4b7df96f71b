// SPDX-License-Identifier: Apache-2.0
// engine/plan/ability.h: what a device or a peer can do, and how that limits a plan. Pure, like the
// planner.
#pragma once

#include <cstdint>
#include <string>

#include "engine/plan/planner.h"

namespace hat::engine {

struct Ability {
  std::string who;           // as reasons name it: "device mlx5_0", "peer host-b"
  uint32_t legs = kAllLegs;  // bit_of() of each leg; 0: no RDMA lanes at all
  uint64_t slot_bytes_max = UINT64_MAX;
};

// Returns the plan limited to what `ability` allows, and appends each change and its cause to the
// plan's reason. If legs of a protocol are missing, direct_write_imm replaces the protocol, or else
// eager, or else TCP.
Plan bounded(Plan plan, const Ability& ability);

}  // namespace hat::engine
