// SPDX-License-Identifier: Apache-2.0
// engine/link/ability.h: the limits of a plan that follow from this host's fabric and from the
// peer's hello.
#pragma once

#include "engine/fabric/fabric.h"
#include "engine/link/hello.h"
#include "engine/plan/ability.h"
#include "engine/rdma/wire.h"

namespace hat::engine {

// Legs that READ need a fabric that supports READs (`reads_max` is not 0).
inline Ability ability_of(const Fabric& fabric) {
  constexpr uint32_t kReads = bit_of(Leg::kReadRndv) | bit_of(Leg::kFetch0) | bit_of(Leg::kFetch1) |
                              bit_of(Leg::kFetch2) | bit_of(Leg::kBitmap);
  return {.who = "fabric " + std::string(fabric.name()),
          .legs = fabric.limits().reads_max == 0 ? kAllLegs & ~kReads : kAllLegs,
          .slot_bytes_max = kSlotBytesMax};
}

inline Ability ability_of(const Hello& peer) {
  return {.who = "peer " + peer.node, .legs = peer.legs, .slot_bytes_max = kSlotBytesMax};
}

}  // namespace hat::engine
