// SPDX-License-Identifier: Apache-2.0
// engine/rdma/lane_memory.h: computes how much registered memory RDMA lanes take from an arena: the
// amount for each purpose, as RdmaLane and Poller request it, and the sum for a configuration,
// which is shown to operators.
#pragma once

#include "engine/memory/arena.h"
#include "engine/memory/need.h"
#include "engine/rdma/rdma_lane.h"

namespace hat::engine {

// One piece of a lane's memory. pieces_of() returns them in the order in which RdmaLane takes them.
struct LanePiece {
  const char* what;
  Purpose purpose;
  size_t bytes;  // 0: the lane has no such piece
};
inline constexpr size_t kLanePieces = 6;
std::array<LanePiece, kLanePieces> pieces_of(const RdmaLaneOptions& options);

// Returns how many receives the other side of a lane can use up before this side polls.
uint32_t receives_of(const RdmaLaneOptions& options);

struct LanePlan {
  RdmaLaneOptions options;
  uint32_t lanes = 1;
};

// An arena with space for all planned lanes, and for kRendezvousMax rendezvous messages of
// `message_bytes` bytes per lane and direction. `need` lists the amounts and their sum for
// operators.
struct ArenaPlan {
  ArenaOptions arena;
  MemoryNeed need;
};
ArenaPlan arena_for(std::span<const LanePlan> plans, size_t message_bytes);

}  // namespace hat::engine
