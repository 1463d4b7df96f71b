// SPDX-License-Identifier: Apache-2.0
#include "engine/rdma/leg_handler.h"

#include "engine/rdma/rdma_lane.h"

namespace hat::engine {

LegHandler::LegHandler(RdmaLane& lane, Leg leg)
    : lane_(lane), sender_(lane.sender()), receiver_(lane.receiver()), leg_(leg) {}

void LegHandler::on_control(const Envelope&, std::span<const std::byte>) {
  lane_.breaks("it sent a control message that the leg does not know");
}

void LegHandler::set_may_poll(bool may) {
  lane_.count_polling(int{may} - int{may_poll_});
  may_poll_ = may;
}

void LegHandler::on_imm(uint64_t, uint32_t) {
  lane_.breaks("it sent an immediate that the leg does not know");
}

}  // namespace hat::engine
