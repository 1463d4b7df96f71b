// SPDX-License-Identifier: Apache-2.0
// engine/plan/ability.h: describes the abilities of an RDMA device or a peer daemon, and limits a
// plan (the protocol, polling and sizes for one function) to these abilities. The functions are
// pure: they do no I/O and keep no state.
#pragma once

#include <cstdint>
#include <string>

#include "engine/plan/planner.h"

namespace hat::engine {

struct Ability {
  // The device or peer, in the words that a plan's reason uses: "device mlx5_0", "peer host-b".
  std::string who;
  // The supported legs (ways to move one message over RDMA), as a set of bit_of() values. The
  // value 0 means that no RDMA lanes (RDMA connections to the peer) are possible.
  uint32_t legs = kAllLegs;
  uint64_t slot_bytes_max = UINT64_MAX;  // the largest supported Plan::slot_bytes
};

// Returns `plan` limited to what `ability` allows, and appends each change and its cause to the
// plan's reason. If `ability` lacks a leg that one of the plan's protocols needs, the protocol
// direct_write_imm replaces that protocol. If direct_write_imm is not possible either, eager
// replaces the protocol; if eager is not possible either, the plan uses TCP.
Plan bounded(Plan plan, const Ability& ability);

}  // namespace hat::engine
