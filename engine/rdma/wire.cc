// SPDX-License-Identifier: Apache-2.0
#include "engine/rdma/wire.h"

#include <bit>

namespace hat::engine {

const char* invalid(const LaneShape& shape) {
  if (static_cast<size_t>(shape.leg) >= kLegCount) return "a leg that does not exist";
  if (shape.beyond != Leg::kWriteRndv && shape.beyond != Leg::kReadRndv) {
    return "no rendezvous leg for messages larger than a slot";
  }
  if (shape.slots < kSlotsMin || shape.slots > kSlotsMax || !std::has_single_bit(shape.slots)) {
    return "the number of slots is not a power of two from 4 to 1024";
  }
  if (shape.slot_bytes > kSlotBytesMax) return "slots of more than 1 MiB";
  return nullptr;
}

}  // namespace hat::engine
