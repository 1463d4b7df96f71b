// SPDX-License-Identifier: Apache-2.0
// engine/legs/chained_write_send.cc: the sender S WRITEs a message into its slot of the receiver
// R's window, and sends a notice. S posts the WRITE and the SEND in one call (write_send posts them
// in two calls).
//
//   S ══ WRITE (envelope, payload), SEND (notice) ══▶ R        one post, one completion at R
//
// Source   HatRPC (SC'21) 3.1, Chained-Write-Send.
#include "engine/legs/write_notice.h"

namespace hat::engine {
namespace {

class ChainedWriteSend final : public WriteNotice {
 public:
  using WriteNotice::WriteNotice;
  void start(Outgoing& message) override {
    write(message);
    notice(message);
  }
};

}  // namespace

std::unique_ptr<LegHandler> make_chained_write_send(RdmaLane& lane, Leg leg) {
  return std::make_unique<ChainedWriteSend>(lane, leg);
}

}  // namespace hat::engine
