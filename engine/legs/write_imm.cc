// SPDX-License-Identifier: Apache-2.0
// engine/legs/write_imm.cc: the sender S moves a message by one WRITE_WITH_IMM into the message's
// slot in the receiver R's window.
//
//   S ── WRITE_WITH_IMM (envelope, payload; imm: leg, number) ──▶ R    one request, one completion
//
// Source   HatRPC (SC'21) 3.1, Direct-WriteIMM. Differs: there are several slots; each envelope
//          that R sends reports which slots are free (Envelope::delivered).
#include "engine/legs/legs.h"
#include "engine/rdma/rdma_lane.h"

namespace hat::engine {
namespace {

class WriteImm final : public LegHandler {
 public:
  using LegHandler::LegHandler;
  void start(Outgoing& message) override {
    sender_.post_message(message, Opcode::kWriteImm, sender_.other_slot(message.sequence)).imm =
        imm_of(leg_, message.sequence);
  }
  void on_imm(uint64_t sequence, uint32_t) override { receiver_.arrive_in_window(sequence, leg_); }
};

}  // namespace

std::unique_ptr<LegHandler> make_write_imm(RdmaLane& lane, Leg leg) {
  return std::make_unique<WriteImm>(lane, leg);
}

}  // namespace hat::engine
