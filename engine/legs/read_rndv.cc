// SPDX-License-Identifier: Apache-2.0
// engine/legs/read_rndv.cc: rendezvous by READ: the receiver R READs a message from the memory of
// the sender S.
//
//   S ── SEND (announce: n bytes at address, rkey) ──▶ R      R finds memory for it
//   S ◀═════════════ READ … READ ═════════════════════ R      in chunks
//   S ◀───────────── SEND (done) ───────────────────── R      S frees its buffer
//
// Source   HatRPC (SC'21) 3.1, Read-RNDV; the chunks are from Mercury (Cluster'13), which pipelines
//          bulk data in this way.
#include "engine/legs/rendezvous.h"

namespace hat::engine {
namespace {

class ReadRndv final : public Rendezvous {
 public:
  using Rendezvous::Rendezvous;

  void start(Outgoing& message) override {
    const RemoteBuffer remote{reinterpret_cast<uint64_t>(message.payload.data),
                              message.payload.bytes, message.payload_rkey};
    lane_.send_control(ControlKind::kAnnounce, leg_, message.sequence, &remote, &message.frame);
  }

  void on_control(const Envelope& control, std::span<const std::byte> body) override {
    const auto remote = remote_buffer_in(body);
    if (control.kind == ControlKind::kAnnounce && remote &&
        remote->bytes == control.frame.payload_bytes) {
      return announced(control, *remote);
    }
    if (control.kind != ControlKind::kDone) return LegHandler::on_control(control, body);
    // If R has acknowledged the message before, kDone has no effect: S has already freed the
    // message's buffer.
    const auto sequence = sender_.sent_sequence(control.sequence);
    if (!sequence) return;
    if (sender_.outgoing(*sequence).leg != leg_)
      return lane_.breaks("it confirms a READ of a message that is sent in another way");
    sender_.free_buffer(*sequence);
  }

 private:
  void on_buffer(const Incoming& incoming) override {
    move({.sequence = incoming.sequence, .there = incoming.there, .here = incoming.here});
  }

  void post_chunk(const Transfer& transfer, const Segment& here, const RemoteBuffer& there,
                  bool) override {
    lane_.post_signaled(leg_, transfer.sequence, Opcode::kRead, here, there);
  }

  void on_moved(const Transfer& transfer) override {
    arrived(transfer.sequence);
    lane_.send_control(ControlKind::kDone, leg_, transfer.sequence);
  }
};

}  // namespace

std::unique_ptr<LegHandler> make_read_rndv(RdmaLane& lane, Leg leg) {
  return std::make_unique<ReadRndv>(lane, leg);
}

}  // namespace hat::engine
