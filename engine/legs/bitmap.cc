// SPDX-License-Identifier: Apache-2.0
// engine/legs/bitmap.cc: the leg of the protocol HiPower. The sender S WRITEs messages into slots
// of the receiver R, and marks them in a bitmap in S's memory, which R READs. R gets no completions
// for messages, and confirms many messages at once.
//
//   S ── WRITE (envelope, payload, checksum) ──▶ R's window      any number of them
//   S: flips the slots' bits in its bitmap
//   S ── SEND (read bitmap) ──▶ R         only if R sleeps: once per batch
//   S ◀══ READ (S's bitmap) ══ R          R takes each message whose slot's bit has flipped
//   S ══ READ (R's bitmap) ══▶ R          when fewer than recycle_percent of the slots are free; R
//                                         flips a slot's bit when it has delivered its message
//   S ◀── SEND (asleep) ── R              after empty_polls_max READs that found nothing
//
// A bit is 1 for messages of even rounds through the slots, and 0 for messages of odd rounds. The
// bitmap only shows which slots R must check: R takes a message only if its number and checksum are
// correct. If S waits for slots and its READs find none free, S asks R for a report (kTell), and R
// answers with kCredit.
//
// Source   HiPower (NPC'19) 3: bitmap0 and bitmap1 of both sides, batched confirmation, recycling
//          by threshold. Differs: its end flag is the control message `read bitmap`; messages have
//          a checksum; R sleeps when it finds nothing.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>

#include "engine/legs/legs.h"
#include "engine/rdma/poller.h"
#include "engine/rdma/rdma_lane.h"
#include "engine/rdma/sum.h"

namespace hat::engine {
namespace {

constexpr uint64_t kReadNew = 0;    // the cookie of R's READ of S's bitmap
constexpr uint64_t kReadTaken = 1;  // the cookie of S's READ of R's bitmap

class Bitmap final : public LegHandler {
 public:
  Bitmap(RdmaLane& lane, Leg leg) : LegHandler(lane, leg) { set_may_poll(true); }

  void start(Outgoing& message) override;
  void before_post() override;
  void on_control(const Envelope& control, std::span<const std::byte> body) override;
  void on_completion(uint64_t cookie) override;
  void on_delivered(uint64_t sequence) override;
  bool wants_poll() const override;
  bool poll() override;

 private:
  using Word = uint64_t;
  static uint32_t words(const LaneShape& shape) { return (shape.slots + 63u) / 64; }
  static bool in_round(const LaneShape& shape, uint64_t sequence) {
    return (sequence / shape.slots) % 2 == 0;
  }
  static void set(const Buffer& bitmap, const LaneShape& shape, uint64_t sequence);
  static bool get(std::span<const std::byte> bitmap, const LaneShape& shape, uint64_t sequence);
  void read(const RemoteBuffer& bitmap, const LaneShape& shape, std::span<std::byte> here,
            uint64_t cookie);
  bool few_free() const;
  bool wants_taken() const;
  void take_new();
  bool take(uint64_t sequence);
  void recycle();

  // The state of the sender S.
  bool reader_sleeps_ = true;
  bool has_new_ = false;
  bool reads_taken_ = false;  // a READ of R's bitmap is outstanding
  uint64_t read_at_ = 0;      // how many messages had been sent when S last READ R's bitmap
  uint32_t found_none_free_ = 0;
  // The value of acked() when S last asked R for a report. S READs no bitmap until acked() changes.
  uint64_t asked_at_ = UINT64_MAX;
  // The state of the receiver R.
  bool awake_ = false;
  bool reads_new_ = false;
  uint32_t found_nothing_ = 0;
};

void Bitmap::set(const Buffer& bitmap, const LaneShape& shape, uint64_t sequence) {
  const uint64_t slot = sequence & (shape.slots - 1);
  std::atomic_ref<Word> word(reinterpret_cast<Word*>(bitmap.bytes().data())[slot / 64]);
  const Word bit = Word{1} << (slot % 64);
  // No atomic read-modify-write operation is needed, because only this thread writes the word.
  const Word before = word.load(std::memory_order_relaxed);
  word.store(in_round(shape, sequence) ? before | bit : before & ~bit, std::memory_order_release);
}

// Returns true if the bit of the message's slot has the value for the message's round. `bitmap` is
// the local copy of the other side's bitmap.
bool Bitmap::get(std::span<const std::byte> bitmap, const LaneShape& shape, uint64_t sequence) {
  const uint64_t slot = sequence & (shape.slots - 1);
  const auto* read = reinterpret_cast<const Word*>(bitmap.data());
  return ((read[slot / 64] >> (slot % 64)) & 1) == (in_round(shape, sequence) ? 1 : 0);
}

void Bitmap::read(const RemoteBuffer& bitmap, const LaneShape& shape, std::span<std::byte> here,
                  uint64_t cookie) {
  const auto bytes = static_cast<uint32_t>(words(shape) * sizeof(Word));
  lane_.post_signaled(leg_, cookie, Opcode::kRead, {here.data(), bytes, lane_.scratch_lkey()},
                      {bitmap.address, bytes, bitmap.rkey});
}

// --- The sender S ---

void Bitmap::start(Outgoing& message) {
  sender_.post_message(message, Opcode::kWrite, sender_.other_slot(message.sequence));
  set(sender_.extra(), sender_.shape(), message.sequence);
  has_new_ = true;
}

void Bitmap::before_post() {
  if (!has_new_) return;
  has_new_ = false;
  if (!reader_sleeps_) return;
  reader_sleeps_ = false;
  lane_.send_control(ControlKind::kReadBitmap, leg_, 0);
}

bool Bitmap::few_free() const {
  const uint64_t slots = sender_.shape().slots;
  const uint64_t free = slots - (sender_.sent() - sender_.acked());
  return free * 100 < slots * lane_.options().bitmap.recycle_percent;
}

void Bitmap::recycle() {
  uint64_t delivered = sender_.acked();
  while (delivered != sender_.sent() && get(lane_.scratch_out(), sender_.shape(), delivered)) {
    ++delivered;
  }
  if (delivered != sender_.acked()) {
    found_none_free_ = 0;
    return sender_.acknowledge(delivered);
  }
  if (++found_none_free_ < lane_.options().bitmap.empty_polls_max) return;
  found_none_free_ = 0;
  asked_at_ = sender_.acked();
  lane_.send_control(ControlKind::kTell, Leg::kSend, sender_.acked());
}

// --- The receiver R ---

void Bitmap::take_new() {
  const LaneShape& shape = receiver_.shape();
  const auto* words_read = reinterpret_cast<const Word*>(lane_.scratch_in().data());
  bool found = false;
  const uint64_t first = receiver_.next();
  // Each iteration handles successive slots whose bits are in one word and whose messages are in
  // one round.
  for (uint64_t run = first; run != first + shape.slots;) {
    const uint64_t slot = run & (shape.slots - 1);
    const uint64_t count =
        std::min({64 - slot % 64, shape.slots - slot, first + shape.slots - run});
    const Word unlike = words_read[slot / 64] ^ (in_round(shape, run) ? ~Word{0} : 0);
    Word turned = ~unlike >> (slot % 64);
    if (count < 64) turned &= (Word{1} << count) - 1;
    for (; turned != 0 && !lane_.broken(); turned &= turned - 1) {
      const uint64_t sequence = run + static_cast<uint64_t>(std::countr_zero(turned));
      if (sequence >= receiver_.next() && !receiver_.arrival(sequence).here())
        found |= take(sequence);
    }
    run += count;
  }
  if (found) {
    found_nothing_ = 0;
  } else if (++found_nothing_ >= lane_.options().bitmap.empty_polls_max) {
    awake_ = false;
    lane_.send_control(ControlKind::kAsleep, leg_, 0);
  }
}

// Delivers the message in the slot of message `sequence`. Returns false if this message has not
// arrived completely, or if the slot contains a message of another round.
bool Bitmap::take(uint64_t sequence) {
  const std::byte* slot = receiver_.slot_of(sequence, stride(receiver_.shape())).data;
  Envelope envelope;
  std::memcpy(&envelope, slot, sizeof envelope);
  const bool ours = envelope.kind == ControlKind::kMessage && envelope.leg == leg_ &&
                    envelope.sequence == static_cast<uint32_t>(sequence) &&
                    envelope.frame.payload_bytes <= receiver_.shape().slot_bytes;
  return ours && sum_of(envelope, slot + sizeof envelope) == envelope.checksum &&
         receiver_.arrive_in_window(sequence, leg_);
}

void Bitmap::on_delivered(uint64_t sequence) {
  set(receiver_.extra(), receiver_.shape(), sequence);
}

// --- Both sides ---

void Bitmap::on_control(const Envelope& control, std::span<const std::byte> body) {
  switch (control.kind) {
    case ControlKind::kReadBitmap:
      if (receiver_.shape().leg != leg_) return LegHandler::on_control(control, body);
      awake_ = true;
      found_nothing_ = 0;
      return;
    case ControlKind::kAsleep:
      reader_sleeps_ = true;
      // R can have READ the bitmap before S set the last bits. So S asks R to READ the bitmap again
      // if R has not acknowledged all messages.
      has_new_ = sender_.acked() != sender_.sent();
      return;
    default:
      return LegHandler::on_control(control, body);
  }
}

bool Bitmap::wants_taken() const {
  const bool may_help = read_at_ != sender_.sent() || sender_.waits_for_slots();
  const bool is_asked = asked_at_ == sender_.acked();
  return sender_.shape().leg == leg_ && !reads_taken_ && !is_asked && few_free() && may_help;
}

bool Bitmap::wants_poll() const { return (awake_ && !reads_new_) || wants_taken(); }

bool Bitmap::poll() {
  if (awake_ && !reads_new_ && lane_.space() != 0) {
    reads_new_ = true;
    read(lane_.other().sender_extra, receiver_.shape(), lane_.scratch_in(), kReadNew);
  }
  if (wants_taken() && lane_.space() != 0) {
    reads_taken_ = true;
    read_at_ = sender_.sent();
    read(lane_.other().receiver_extra, sender_.shape(), lane_.scratch_out(), kReadTaken);
  }
  return false;  // on_completion() handles the results of the READs
}

void Bitmap::on_completion(uint64_t cookie) {
  if (cookie == kReadNew) {
    reads_new_ = false;
    if (awake_) take_new();
  } else {
    reads_taken_ = false;
    recycle();
  }
}

}  // namespace

std::unique_ptr<LegHandler> make_bitmap(RdmaLane& lane, Leg leg) {
  return std::make_unique<Bitmap>(lane, leg);
}

}  // namespace hat::engine
