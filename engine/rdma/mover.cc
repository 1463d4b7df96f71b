// SPDX-License-Identifier: Apache-2.0
#include "engine/rdma/mover.h"

#include "engine/rdma/rdma_lane.h"

namespace hat::engine {

void Mover::on_note(const Envelope&, std::span<const std::byte>) {
  lane_.breaks("a note that its leg does not know");
}

void Mover::set_may_look(bool may) {
  lane_.count_looking(int{may} - int{may_look_});
  may_look_ = may;
}

void Mover::on_imm(uint64_t, uint32_t) { lane_.breaks("an immediate that its leg does not know"); }

}  // namespace hat::engine
