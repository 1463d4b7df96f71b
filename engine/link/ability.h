// SPDX-License-Identifier: Apache-2.0
// engine/link/ability.h: finds out how this host's fabric (its access to RDMA) and the peer daemon
// limit a plan. The peer's limits are in its hello, the first message on a link between two
// daemons.
#pragma once

#include "engine/fabric/fabric.h"
#include "engine/link/hello.h"
#include "engine/plan/ability.h"
#include "engine/rdma/wire.h"

namespace hat::engine {

// Returns what a fabric supports. Without RDMA READs (`reads_max` is 0), the legs that use READs
// are missing.
inline Ability ability_of(const Fabric& fabric) {
  constexpr uint32_t kReads = bit_of(Leg::kReadRndv) | bit_of(Leg::kFetch0) | bit_of(Leg::kFetch1) |
                              bit_of(Leg::kFetch2) | bit_of(Leg::kBitmap);
  return {.who = "fabric " + std::string(fabric.name()),
          .legs = fabric.limits().reads_max == 0 ? kAllLegs & ~kReads : kAllLegs,
          .slot_bytes_max = kSlotBytesMax};
}

// Returns what a peer supports, according to its hello.
inline Ability ability_of(const Hello& peer) {
  return {.who = "peer " + peer.node, .legs = peer.legs, .slot_bytes_max = kSlotBytesMax};
}

}  // namespace hat::engine
