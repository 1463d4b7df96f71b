// SPDX-License-Identifier: Apache-2.0
// engine/legs/send.cc: a message as one SEND, copied by the device into a receive of R's.
//
//   S ── SEND (envelope, payload) ──▶ R        one request at S, one completion at R
//
// Bytes    up to kEagerBytesMax of payload: a receive is as long.
// Source   HatRPC (SC'21) 3.1, Eager-SendRecv. Differs: the receives are shared by all lanes (SRQ).
#include "engine/legs/legs.h"
#include "engine/rdma/rdma_lane.h"

namespace hat::engine {
namespace {

class Send final : public Mover {
 public:
  using Mover::Mover;
  void start(Outgoing& message) override { lane_.post_message(message, Opcode::kSend); }
};

}  // namespace

std::unique_ptr<Mover> make_send(RdmaLane& lane, Leg leg) {
  return std::make_unique<Send>(lane, leg);
}

}  // namespace hat::engine
