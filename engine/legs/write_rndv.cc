// SPDX-License-Identifier: Apache-2.0
// engine/legs/write_rndv.cc: rendezvous by WRITE.
//
//   S ── SEND (announce: n bytes) ─────▶ R      R takes a buffer of its arena
//   S ◀───── SEND (offer: address, rkey) ── R
//   S ── WRITE … WRITE_WITH_IMM ───────▶ R      in chunks; the last shows that all have arrived
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
    message.exposed = false;  // until R offers a buffer
    lane_.note(NoteKind::kAnnounce, leg_, message.sequence, nullptr, &message.frame);
  }

  void on_note(const Envelope& note, std::span<const std::byte> body) override {
    if (note.kind == NoteKind::kAnnounce && body.empty()) return announced(note, {});
    const auto place = place_in(body);
    if (note.kind != NoteKind::kOffer || !place) return Mover::on_note(note, body);
    const auto sequence = lane_.sent_sequence(note.sequence);
    if (!sequence) return lane_.breaks("an offer for a message that is not on its way");
    Outgoing& message = lane_.outgoing(*sequence);
    if (message.leg != leg_ || message.exposed || place->bytes != message.payload.bytes) {
      return lane_.breaks("an offer that nobody asked for");
    }
    message.exposed = true;
    move({.sequence = *sequence, .there = *place, .here = message.payload});
  }

  void on_imm(uint64_t sequence, uint32_t bytes) override {
    const Buffer* buffer = buffer_of(sequence);
    if (buffer == nullptr || bytes == 0 || bytes > buffer->bytes().size()) {
      return lane_.breaks("the end of a message that was not announced");
    }
    arrived(sequence);
  }

 private:
  void on_buffer(const Incoming& incoming) override {
    const Place place{incoming.buffer.address(), incoming.frame.payload_bytes,
                      incoming.buffer.rkey()};
    lane_.note(NoteKind::kOffer, leg_, incoming.sequence, &place);
  }

  void post_chunk(const Transfer& transfer, const Segment& here, const Place& there,
                  bool last) override {
    const Opcode opcode = last ? Opcode::kWriteImm : Opcode::kWrite;
    WorkRequest& work = lane_.post_signaled(leg_, transfer.sequence, opcode, here, there);
    work.imm = imm_of(leg_, transfer.sequence);
  }

  void on_moved(const Transfer& transfer) override { lane_.free_buffer(transfer.sequence); }
};

}  // namespace

std::unique_ptr<Mover> make_write_rndv(RdmaLane& lane, Leg leg) {
  return std::make_unique<WriteRndv>(lane, leg);
}

}  // namespace hat::engine
