// SPDX-License-Identifier: Apache-2.0
// engine/legs/write_notice.h: the common part of the legs write_send and chained_write_send: the
// sender WRITEs a message into the receiver's window, and sends a notice of the WRITE. This class
// contains all of the receiver's code.
#pragma once

#include "engine/legs/legs.h"
#include "engine/rdma/rdma_lane.h"

namespace hat::engine {

class WriteNotice : public LegHandler {
 public:
  using LegHandler::LegHandler;

  void on_control(const Envelope& control, std::span<const std::byte> body) override {
    if (control.kind != ControlKind::kNotice) return LegHandler::on_control(control, body);
    const auto sequence = receiver_.coming_sequence(control.sequence, 32);
    if (!sequence || !receiver_.receives_by(leg_))
      return lane_.breaks("it notifies of a message that is not expected now");
    receiver_.arrive_in_window(*sequence, leg_);
  }

 protected:
  void write(const Outgoing& message) {
    sender_.post_message(message, Opcode::kWrite, sender_.other_slot(message.sequence));
  }
  void notice(const Outgoing& message) {
    lane_.send_control(ControlKind::kNotice, leg_, message.sequence);
  }
};

}  // namespace hat::engine
