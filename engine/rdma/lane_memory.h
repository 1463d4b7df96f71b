// SPDX-License-Identifier: Apache-2.0
// engine/rdma/lane_memory.h: what lanes take of an arena, as a sum: what RdmaLane and Poller ask
// for, and what an operator is told that a configuration needs.
#pragma once

#include "engine/memory/arena.h"
#include "engine/memory/need.h"
#include "engine/rdma/rdma_lane.h"

namespace hat::engine {

// One piece of a lane's memory; in the order in which RdmaLane takes them.
struct LanePiece {
  const char* what;
  Purpose purpose;
  size_t bytes;  // 0: none
};
inline constexpr size_t kLanePieces = 6;
std::array<LanePiece, kLanePieces> pieces_of(const RdmaLaneOptions& options);

// Receives that the other side's lane may use before this side looks.
uint32_t receives_of(const RdmaLaneOptions& options);

struct LanePlan {
  RdmaLaneOptions options;
  uint32_t lanes = 1;
};

// The arena in which so many lanes find room, each with rendezvous buffers for as many messages of
// `message_bytes` as it may have in flight; and the same as a sum to read.
struct ArenaPlan {
  ArenaOptions arena;
  MemoryNeed need;
};
ArenaPlan arena_for(std::span<const LanePlan> plans, size_t message_bytes);

}  // namespace hat::engine
