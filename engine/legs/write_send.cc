// SPDX-License-Identifier: Apache-2.0
// engine/legs/write_send.cc: the sender S WRITEs a message into the message's slot in the receiver
// R's window, and then sends a notice (a SEND), which completes at R.
//
//   S ── WRITE (envelope, payload) ──▶ R's window
//   S ── SEND (notice) ──────────────▶ R        two posts, one completion at R
//
// Source   HatRPC (SC'21) 3.1, Direct-Write-Send. Differs: S does not wait for the WRITE's
//          completion, because the notice follows the WRITE on the same queue pair.
#include "engine/legs/write_notice.h"

namespace hat::engine {
namespace {

class WriteSend final : public WriteNotice {
 public:
  using WriteNotice::WriteNotice;
  void start(Outgoing& message) override {
    write(message);
    lane_.post_chain();
    notice(message);
    lane_.post_chain();
  }
};

}  // namespace

std::unique_ptr<LegHandler> make_write_send(RdmaLane& lane, Leg leg) {
  return std::make_unique<WriteSend>(lane, leg);
}

}  // namespace hat::engine
