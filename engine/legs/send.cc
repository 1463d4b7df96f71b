// SPDX-License-Identifier: Apache-2.0
// engine/legs/send.cc: a message as one SEND, which the device copies into one of R's receives.
//
//   S ── SEND (envelope, payload) ──▶ R        one request at S, one completion at R
//
// Bytes    at most kEagerBytesMax of payload, since that is what a receive can hold.
// Source   HatRPC (SC'21) 3.1, Eager-SendRecv. Differs: all lanes of a poller share the receives
//          (SRQ).
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
