// SPDX-License-Identifier: Apache-2.0
// engine/legs/send.cc: the sender S sends a message as one SEND, which the device copies into a
// receive (a posted buffer) of the receiver R.
//
//   S ── SEND (envelope, payload) ──▶ R        one request at S, one completion at R
//
// Bytes    at most kEagerBytesMax bytes of payload, because a receive has no more space.
// Source   HatRPC (SC'21) 3.1, Eager-SendRecv. Differs: all lanes of a poller share their receives
//          in one shared receive queue (SRQ).
#include "engine/legs/legs.h"
#include "engine/rdma/rdma_lane.h"

namespace hat::engine {
namespace {

class Send final : public LegHandler {
 public:
  using LegHandler::LegHandler;
  void start(Outgoing& message) override { sender_.post_message(message, Opcode::kSend); }
};

}  // namespace

std::unique_ptr<LegHandler> make_send(RdmaLane& lane, Leg leg) {
  return std::make_unique<Send>(lane, leg);
}

}  // namespace hat::engine
