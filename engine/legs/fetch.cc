// SPDX-License-Identifier: Apache-2.0
// engine/legs/fetch.cc: the fetch legs. The sender S leaves a reply in a slot of its own memory.
// The receiver R, which waits for the reply, READs the reply from that slot.
//
//   S: envelope, payload and checksum into slot n          S posts no request
//   R: READ ──▶ S's memory, again and again while a reply is due:
//        fetch 0   READ as many bytes of the slot as the last reply had, or first_bytes if the last
//                  reply had more than 4 KiB; READ the rest if the reply is longer
//        fetch 1   READ index entry n: the reply's length; READ the slot
//        fetch 2   READ bucket n: the entry's index; READ the entry: the length; READ the slot
//   R ── SEND (push) ──▶ S      after empty_polls_max READs in a row that found no reply: S then
//                               sends the replies by the leg `send` if they fit, or else by
//                               `read_rndv`
//
// R gets no completion when a reply is ready, so R takes a reply only if its number and checksum
// are correct. After S has pushed some replies, R READs again. R's next envelope announces this to
// S: the field fetch_epoch of R's envelopes is odd while R READs.
//
// Bounds   FetchOptions. R READs as many replies as are due, and at most `depth` replies at the
//          same time.
// Source   HatRPC (SC'21) 3.1, RFP, FaRM, Pilaf; the switch to pushing is RFP's (EuroSys'17).
//          Differs: RFP stops READing if the server's processing time is long, this code after a
//          number of READs in a row that find no reply. This code READs again after a number of
//          delivered messages. If R then asks for pushes again without having found a reply by
//          READ, the number doubles (up to kInVainMax times the first number); a reply that R
//          finds by READ sets the number back to the first.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

#include "base/fifo.h"
#include "engine/legs/legs.h"
#include "engine/rdma/poller.h"
#include "engine/rdma/rdma_lane.h"
#include "engine/rdma/sum.h"

namespace hat::engine {
namespace {

// An element of the sender's table, which the receiver READs before the message. It is an entry or,
// only with fetch 2, a bucket. The value of an entry is the length of envelope and payload of
// message `sequence`. The value of a bucket is 1 + the index of an entry.
struct Index {
  uint32_t sequence = 0;
  uint32_t value = 0;
};
static_assert(sizeof(Index) == 8);

constexpr uint32_t kGuessBytesMax = 4096;
constexpr uint32_t kInVainMax = 64;  // the maximum of switches_in_vain_

class Fetch final : public LegHandler {
 public:
  Fetch(RdmaLane& lane, Leg leg)
      : LegHandler(lane, leg),
        levels_(static_cast<uint32_t>(leg) - static_cast<uint32_t>(Leg::kFetch0)) {
    reads_.reserve(lane.options().fetch.depth);
    last_bytes_ = lane.options().fetch.first_bytes;
    set_may_poll(true);
  }

  void start(Outgoing& message) override;
  void on_control(const Envelope& control, std::span<const std::byte> body) override;
  void on_completion(uint64_t cookie) override;
  bool wants_poll() const override;
  bool poll() override;

 private:
  // The READs of one message. At most one of these READs is outstanding.
  struct Read {
    uint64_t sequence = 0;
    uint32_t level = 0;  // how many metadata READs are not complete
    uint32_t bytes = 0;  // bytes of the message that R has requested so far
  };

  bool is_fetched() const { return leg_ == receiver_.shape().leg; }
  void push(Outgoing& message);
  void push_some();
  void begin_reads();
  void read_index(Read& read, uint64_t index);
  void read_slot(Read& read, uint32_t from, uint32_t to);
  void take_index(Read& read);
  void take_slot(Read& read);
  void drop(const Read& read);
  void in_vain(const Read& read);
  void ask_for_pushes();
  std::byte* scratch(uint64_t sequence) const;

  const uint32_t levels_;
  Fifo<uint64_t> to_push_;  // the sender's messages to push

  // The state of the receiver R.
  bool fetching_ = true;
  std::vector<Read> reads_;
  uint32_t last_bytes_;
  uint32_t reads_in_vain_ = 0;
  uint32_t switches_in_vain_ = 1;
  bool found_since_switch_ = false;
  uint8_t epoch_ = 1;
  uint64_t again_at_ = 0;
};

// --- The sender S ---

// Posts nothing, because the receiver READs the message by itself. Stores only the message's entry
// (fetch 1 and 2) and bucket (fetch 2) in the table; fetch 0 has no table. While the receiver
// READs no replies, SendSide::leg_for() chooses other legs.
void Fetch::start(Outgoing& message) {
  const uint64_t slots = sender_.shape().slots;
  const uint64_t slot = message.sequence & (slots - 1);
  auto* table = reinterpret_cast<Index*>(sender_.extra().bytes().data());
  const auto low_bits = static_cast<uint32_t>(message.sequence);
  const auto set = [&](uint64_t index, Index value) {
    std::atomic_ref<uint64_t> word(reinterpret_cast<uint64_t&>(table[index]));
    uint64_t raw = 0;
    std::memcpy(&raw, &value, sizeof raw);
    word.store(raw, std::memory_order_release);
  };
  if (levels_ >= 1) set(slot, {low_bits, message.bytes()});
  if (levels_ == 2) set(slots + slot, {low_bits, static_cast<uint32_t>(slot) + 1});
}

void Fetch::push(Outgoing& message) {
  message.leg = message.payload.bytes <= kEagerBytesMax ? Leg::kSend : Leg::kReadRndv;
  // The envelope in the slot shows R that S pushes this reply, in case R READs the slot later.
  message.envelope->leg = message.leg;
  lane_.handler(message.leg).start(message);
}

void Fetch::push_some() {
  if (sender_.fetch_epoch_there() % 2 == 1) to_push_.clear();  // R READs again: no need to push
  while (!to_push_.empty() && lane_.space() != 0) {
    Outgoing& message = sender_.outgoing(to_push_.front());
    // Pushes the message only if the receiver still lacks it: the receiver can have READ it
    // meanwhile, and another message can have its slot now.
    const bool waits = message.sequence == to_push_.front() && message.sequence >= sender_.acked();
    to_push_.pop_front();
    if (waits && message.leg == leg_) push(message);
  }
}

void Fetch::on_control(const Envelope& control, std::span<const std::byte> body) {
  if (control.kind != ControlKind::kPush) return LegHandler::on_control(control, body);
  // kPush names the first message that R lacks. If this message is not in flight, R lacks no
  // message, and S pushes nothing.
  const auto from = sender_.sent_sequence(control.sequence);
  to_push_.clear();
  if (!from) return;
  for (uint64_t sequence = *from; sequence != sender_.sent(); ++sequence) {
    if (sender_.outgoing(sequence).leg == leg_) to_push_.push_back(sequence);
  }
  push_some();
}

// --- The receiver R ---

bool Fetch::wants_poll() const {
  if (!to_push_.empty()) return true;
  if (!is_fetched()) return false;
  return fetching_ ? receiver_.due() != 0 : receiver_.next() >= again_at_;
}

bool Fetch::poll() {
  push_some();
  if (!is_fetched()) return false;
  if (!fetching_ && receiver_.next() >= again_at_) {
    fetching_ = true;
    reads_in_vain_ = 0;
    receiver_.set_fetch_epoch(++epoch_);
  }
  if (fetching_) begin_reads();
  return false;  // on_completion() handles the results of the READs
}

void Fetch::begin_reads() {
  const FetchOptions& options = lane_.options().fetch;
  if (reads_in_vain_ >= options.empty_polls_max) {
    if (reads_.empty()) ask_for_pushes();
    return;
  }
  const uint32_t wanted =
      std::min({receiver_.due(), options.depth, uint32_t{receiver_.shape().slots}});
  for (uint64_t sequence = receiver_.next(); sequence != receiver_.next() + wanted; ++sequence) {
    if (reads_.size() >= wanted || lane_.space() == 0) break;
    const bool is_read = std::ranges::find(reads_, sequence, &Read::sequence) != reads_.end();
    if (is_read || receiver_.arrival(sequence).here()) continue;
    Read& read = reads_.emplace_back();
    read.sequence = sequence;
    read.level = levels_;
    const uint64_t slot = sequence & (receiver_.shape().slots - 1);
    if (levels_ == 0) read_slot(read, 0, std::min(last_bytes_, stride(receiver_.shape())));
    if (levels_ == 1) read_index(read, slot);
    if (levels_ == 2) read_index(read, receiver_.shape().slots + slot);
  }
}

std::byte* Fetch::scratch(uint64_t sequence) const {
  const uint64_t slot = sequence & (receiver_.shape().slots - 1);
  return lane_.scratch_in().data() + slot * sizeof(Index);
}

void Fetch::read_index(Read& read, uint64_t index) {
  const RemoteBuffer& table = lane_.other().sender_extra;
  lane_.post_signaled(leg_, read.sequence, Opcode::kRead,
                      {scratch(read.sequence), sizeof(Index), lane_.scratch_lkey()},
                      {table.address + index * sizeof(Index), sizeof(Index), table.rkey});
}

void Fetch::read_slot(Read& read, uint32_t from, uint32_t to) {
  const uint64_t slot = read.sequence & (receiver_.shape().slots - 1);
  const RemoteBuffer& slots = lane_.other().slots;
  Segment here = receiver_.slot_of(read.sequence, to - from);
  here.data += from;
  read.bytes = to;
  lane_.post_signaled(
      leg_, read.sequence, Opcode::kRead, here,
      {slots.address + slot * stride(receiver_.shape()) + from, to - from, slots.rkey});
}

void Fetch::on_completion(uint64_t cookie) {
  const auto read = std::ranges::find(reads_, cookie, &Read::sequence);
  if (read == reads_.end()) return;
  if (read->level != 0) return take_index(*read);
  take_slot(*read);
}

void Fetch::take_index(Read& read) {
  Index index;
  std::memcpy(&index, scratch(read.sequence), sizeof index);
  if (index.sequence != static_cast<uint32_t>(read.sequence) || index.value == 0) {
    return in_vain(read);
  }
  if (--read.level != 0) {
    if (index.value > receiver_.shape().slots)
      return lane_.breaks("a bucket points to an entry that does not exist");
    return read_index(read, index.value - 1);
  }
  if (index.value > stride(receiver_.shape()))
    return lane_.breaks("an entry is longer than its slot");
  read_slot(read, 0, index.value);
}

void Fetch::take_slot(Read& read) {
  const std::byte* slot = receiver_.slot_of(read.sequence, read.bytes).data;
  Envelope envelope;
  if (read.bytes < sizeof envelope) return in_vain(read);
  std::memcpy(&envelope, slot, sizeof envelope);
  const uint32_t payload = envelope.frame.payload_bytes;
  const bool ours = envelope.kind == ControlKind::kMessage && envelope.leg == leg_ &&
                    envelope.sequence == static_cast<uint32_t>(read.sequence) &&
                    payload <= receiver_.shape().slot_bytes;
  if (!ours) return in_vain(read);
  const auto whole = static_cast<uint32_t>(sizeof envelope) + payload;
  if (read.bytes < whole) return read_slot(read, read.bytes, whole);
  if (sum_of(envelope, slot + sizeof envelope) != envelope.checksum) return in_vain(read);
  // The next reply's first READ is as long as this reply, rounded up to 64 bytes. But a long READ
  // that finds no reply costs more than a second READ for the rest. So after a reply that is longer
  // than kGuessBytesMax, the next first READ has FetchOptions::first_bytes.
  const uint32_t again = (whole + 63) / 64 * 64;
  last_bytes_ = again <= kGuessBytesMax ? again : lane_.options().fetch.first_bytes;
  reads_in_vain_ = 0;
  found_since_switch_ = true;
  const uint64_t sequence = read.sequence;
  drop(read);
  receiver_.arrive_in_window(sequence, leg_);
}

void Fetch::drop(const Read& read) { reads_.erase(reads_.begin() + (&read - reads_.data())); }

void Fetch::in_vain(const Read& read) {
  drop(read);
  ++reads_in_vain_;
}

void Fetch::ask_for_pushes() {
  const uint32_t pushes = lane_.options().fetch.pushes_until_again;
  switches_in_vain_ = found_since_switch_ ? 1 : std::min(2 * switches_in_vain_, kInVainMax);
  found_since_switch_ = false;
  fetching_ = false;
  again_at_ = receiver_.next() + uint64_t{pushes} * switches_in_vain_;
  // S pushes all messages from number `from` on. R forgets the messages that it has READ out of
  // order, because S pushes these again.
  const uint64_t from = receiver_.next();
  for (uint64_t sequence = from + 1; sequence != from + receiver_.shape().slots; ++sequence) {
    Arrival& arrival = receiver_.arrival(sequence);
    if (arrival.here() && arrival.leg == leg_) arrival.stage = Arrival::Stage::kUnknown;
  }
  receiver_.set_fetch_epoch(++epoch_);
  lane_.send_control(ControlKind::kPush, leg_, from);
}

}  // namespace

std::unique_ptr<LegHandler> make_fetch(RdmaLane& lane, Leg leg) {
  return std::make_unique<Fetch>(lane, leg);
}

}  // namespace hat::engine
