// SPDX-License-Identifier: Apache-2.0
// engine/legs/write_rndv.cc: rendezvous by WRITE: the sender S WRITEs a message into a buffer that
// the receiver R offers.
//
//   S ── SEND (announce: n bytes) ─────▶ R      R takes a buffer from its arena
//   S ◀───── SEND (offer: address, rkey) ── R
//   S ── WRITE … WRITE_WITH_IMM ───────▶ R      in chunks; the last chunk completes at R
//
// Source   HatRPC (SC'21) 3.1, Write-RNDV; the chunks are from Mercury (Cluster'13), which
//          pipelines bulk data in this way.
#include "engine/legs/rendezvous.h"

namespace hat::engine {
namespace {

class WriteRndv final : public Rendezvous {
 public:
  using Rendezvous::Rendezvous;

  void start(Outgoing& message) override {
    message.exposed = false;  // no payload reaches the receiver before it offers a buffer
    lane_.send_control(ControlKind::kAnnounce, leg_, message.sequence, nullptr, &message.frame);
  }

  void on_control(const Envelope& control, std::span<const std::byte> body) override {
    if (control.kind == ControlKind::kAnnounce && body.empty()) return announced(control, {});
    const auto remote = remote_buffer_in(body);
    if (control.kind != ControlKind::kOffer || !remote)
      return LegHandler::on_control(control, body);
    const auto sequence = sender_.sent_sequence(control.sequence);
    if (!sequence) return lane_.breaks("it offers memory for a message that was not announced");
    Outgoing& message = sender_.outgoing(*sequence);
    if (message.leg != leg_ || message.exposed || remote->bytes != message.payload.bytes) {
      return lane_.breaks("it offers memory that does not fit the announced message");
    }
    message.exposed = true;
    move({.sequence = *sequence, .there = *remote, .here = message.payload});
  }

  void on_imm(uint64_t sequence, uint32_t bytes) override {
    const Incoming* message = incoming(sequence);
    if (message == nullptr || bytes == 0 || bytes > message->here.bytes) {
      return lane_.breaks("it completes a message that it did not announce");
    }
    arrived(sequence);
  }

 private:
  void on_buffer(const Incoming& incoming) override {
    const RemoteBuffer remote{incoming.buffer.address(), incoming.frame.payload_bytes,
                              incoming.buffer.rkey()};
    lane_.send_control(ControlKind::kOffer, leg_, incoming.sequence, &remote);
  }

  void post_chunk(const Transfer& transfer, const Segment& here, const RemoteBuffer& there,
                  bool last) override {
    const Opcode opcode = last ? Opcode::kWriteImm : Opcode::kWrite;
    WorkRequest& work = lane_.post_signaled(leg_, transfer.sequence, opcode, here, there);
    work.imm = imm_of(leg_, transfer.sequence);
  }

  void on_moved(const Transfer& transfer) override { sender_.free_buffer(transfer.sequence); }
};

}  // namespace

std::unique_ptr<LegHandler> make_write_rndv(RdmaLane& lane, Leg leg) {
  return std::make_unique<WriteRndv>(lane, leg);
}

}  // namespace hat::engine
