// SPDX-License-Identifier: Apache-2.0
// engine/plan/ability.h: what a device, or the peer at the other end, can do, and what is left of a
// plan then. Pure, as the planner is.
#pragma once

#include <cstdint>
#include <string>

#include "engine/plan/planner.h"

namespace hat::engine {

constexpr uint32_t bit_of(Leg leg) { return 1u << static_cast<uint32_t>(leg); }
inline constexpr uint32_t kAllLegs = (1u << kLegCount) - 1;

struct Ability {
  std::string who;           // as it stands in reasons: "device mlx5_0", "peer host-b"
  uint32_t legs = kAllLegs;  // bit_of() of each; none: no RDMA lanes at all
  uint64_t slot_bytes_max = UINT64_MAX;
};

// The plan within what `ability` allows; what changed, and why, is appended to its reason. A
// protocol whose legs are missing gives way to direct_write_imm, then to eager, then to TCP.
Plan bounded(Plan plan, const Ability& ability);

}  // namespace hat::engine
