// SPDX-License-Identifier: Apache-2.0
#include "engine/rdma/send_side.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "engine/rdma/poller.h"
#include "engine/rdma/rdma_lane.h"
#include "engine/rdma/sum.h"

namespace hat::engine {

SendSide::SendSide(RdmaLane& lane, RequestChain& chain, const LaneShape& shape, LaneEvents& events)
    : lane_(lane), chain_(chain), shape_(shape), events_(events), out_(shape.slots) {}

void SendSide::set_memory(Buffer slots, Buffer extra) {
  slots_ = std::move(slots);
  extra_ = std::move(extra);
}

void SendSide::send(const FrameHeader& header, std::span<const Bytes> pieces,
                    const BorrowedRange* borrowed) {
  if (!waiting_.empty() || !begin(header, pieces, borrowed)) keep_waiting(header, pieces, borrowed);
}

Fate SendSide::fate(uint64_t number) const {
  if (number < acked_) return Fate::kDelivered;
  if (number >= sent_) return Fate::kNotDelivered;
  const Outgoing& message = out_[number & (out_.size() - 1)];
  return message.exposed ? Fate::kUnknown : Fate::kNotDelivered;
}

// Returns the leg that moves a frame. A fetch leg (LegRow::replies) is chosen only for replies, and
// only while the other side READs replies: the other side does not poll for other frames.
Leg SendSide::leg_for(const FrameHeader& frame) const {
  const uint32_t bytes = frame.payload_bytes;
  const uint32_t fits =
      shape_.leg == Leg::kSend ? std::min(shape_.slot_bytes, kEagerBytesMax) : shape_.slot_bytes;
  if (bytes > fits) return shape_.beyond;
  const LegRow& wanted = row(shape_.leg);
  if (wanted.on_demand && bytes != 0) return shape_.leg;
  const bool answers = (frame.kind == FrameKind::kReply || frame.kind == FrameKind::kMore) &&
                       (frame.flags & kEarly) == 0;             // early pieces are not polled for
  const bool is_read = answers && fetch_epoch_there_ % 2 == 1;  // otherwise the reply is pushed
  if (!wanted.on_demand && (!wanted.replies || is_read)) return shape_.leg;
  return bytes <= kEagerBytesMax ? Leg::kSend : shape_.beyond;
}

// Begins to send a frame. Returns false if no slot, send entry or buffer is free.
bool SendSide::begin(const FrameHeader& header, std::span<const Bytes> pieces,
                     const BorrowedRange* borrowed) {
  if (sent_ - returned_ == out_.size() || lane_.space() < kRequestsMax) return false;
  Outgoing& message = outgoing(sent_);
  message.leg = leg_for(header);
  const bool on_demand = row(message.leg).on_demand;
  if (on_demand && on_demand_ == kRendezvousMax) return false;
  message.sequence = sent_;
  message.frame = header;
  message.exposed = true;
  if (!stage(message, pieces, borrowed)) return false;
  message.on_demand = on_demand;
  if (on_demand) ++on_demand_;
  ++sent_;
  DCHECK_LE(sent_ - returned_, out_.size());
  chain_.signal_every(message.borrowed);  // a completion must show when to return the range
  lane_.handler(message.leg).start(message);
  chain_.signal_every(false);
  message.posted = chain_.posted();
  if (message.borrowed) ++borrowed_;
  if (borrowed != nullptr && !message.borrowed) copied_.push_back(message.sequence);
  return true;
}

bool SendSide::stage(Outgoing& message, std::span<const Bytes> pieces,
                     const BorrowedRange* borrowed) {
  std::byte* slot = slots_.bytes().data() + (message.sequence & (out_.size() - 1)) * stride(shape_);
  message.envelope = reinterpret_cast<Envelope*>(slot);
  message.payload = {slot + sizeof(Envelope), message.frame.payload_bytes, slots_.lkey()};
  message.payload_rkey = slots_.rkey();
  const Bytes whole =
      borrowed == nullptr ? Bytes{} : Bytes{borrowed->segment.data, borrowed->segment.bytes};
  const LegRow& leg = row(message.leg);
  const bool must_copy =
      leg.replies || (borrowed != nullptr && borrowed->rkey == 0 && !leg.gathers);
  message.borrowed = borrowed != nullptr && !must_copy;
  if (borrowed != nullptr && must_copy) pieces = {&whole, 1};
  if (message.borrowed) {
    message.payload = borrowed->segment;
    message.payload_rkey = borrowed->rkey;
  } else if (leg.on_demand) {
    auto buffer = lane_.poller().arena().take_message(Purpose::kSend, message.frame.payload_bytes);
    starved_ = !buffer;
    if (!buffer) {
      lane_.check_refusal(Purpose::kSend, message.frame.payload_bytes);
      return false;
    }
    message.buffer = std::move(*buffer);
    message.payload.data = message.buffer.bytes().data();
    message.payload.lkey = message.buffer.lkey();
    message.payload_rkey = message.buffer.rkey();
  }
  std::byte* at = message.payload.data;
  for (const Bytes piece : pieces) at = std::copy(piece.begin(), piece.end(), at);
  Envelope& envelope = *message.envelope;
  envelope = {.sequence = static_cast<uint32_t>(message.sequence),
              .kind = ControlKind::kMessage,
              .leg = message.leg,
              .frame = message.frame};
  lane_.receiver().write_report(envelope);
  if (leg.sums) envelope.checksum = sum_of(envelope, message.payload.data);
  return true;
}

// --- Waiting frames ---

void SendSide::keep_waiting(const FrameHeader& header, std::span<const Bytes> pieces,
                            const BorrowedRange* borrowed) {
  waiting_.push_back(header, pieces, borrowed);
  congested_ = congested_ || waiting_.bytes() > RdmaLane::kCongestedBytes;
  if (waiting_.bytes() > RdmaLane::kQueuedBytesMax) {
    lane_.go_down("the peer takes no more data, and too much is queued");
  }
}

bool SendSide::begin_waiting() {
  bool began = false;
  while (!waiting_.empty() && !lane_.broken()) {
    const Bytes copied = waiting_.copied();
    starved_ = false;
    const std::span<const Bytes> pieces(&copied, copied.empty() ? 0u : 1u);
    if (!begin(waiting_.header(), pieces, waiting_.borrowed())) return began;
    waiting_.pop_front();
    began = true;
  }
  if (waiting_.empty() && congested_ && !lane_.broken()) {
    congested_ = false;
    lane_.turns().serve();
  }
  return began;
}

// --- Acknowledged messages ---

std::optional<uint64_t> SendSide::sent_sequence(uint32_t low_bits) const {
  const uint64_t number = acked_ + (low_bits - static_cast<uint32_t>(acked_));
  return number < sent_ ? std::optional(number) : std::nullopt;
}

bool SendSide::take_report(const Envelope& envelope) {
  const auto epoch_ahead = static_cast<int8_t>(envelope.fetch_epoch - fetch_epoch_there_);
  if (epoch_ahead > 0) fetch_epoch_there_ = envelope.fetch_epoch;
  // This side can handle an envelope after a newer envelope, so it is not an error if `delivered`
  // is lower than in an earlier report.
  const auto ahead = static_cast<int32_t>(envelope.delivered - static_cast<uint32_t>(acked_));
  if (ahead <= 0) return true;
  if (static_cast<uint64_t>(ahead) > sent_ - acked_) {
    lane_.breaks("it acknowledges more messages than were sent");
    return false;
  }
  acknowledge(acked_ + static_cast<uint64_t>(ahead));
  return true;
}

void SendSide::acknowledge(uint64_t delivered) {
  DCHECK(acked_ <= delivered && delivered <= sent_) << acked_ << ", " << delivered << ", " << sent_;
  while (on_demand_ != 0 && acked_ != delivered) free_buffer(outgoing(acked_++));
  acked_ = delivered;
  return_borrowed();
}

// Calls on_returned() for the borrowed ranges that the device no longer reads. The range of an
// on_demand message (rendezvous) is returned here only once the message is acknowledged; its leg
// handler can return the range earlier, with free_buffer().
void SendSide::return_borrowed() {
  for (uint64_t each = returned_; borrowed_ != 0 && each != sent_; ++each) {
    Outgoing& message = outgoing(each);
    if (!message.borrowed) continue;
    if (message.posted > chain_.done()) break;
    if (each < acked_ || !message.on_demand) give_back(message);
  }
  if (borrowed_ == 0) returned_ = acked_;
  DCHECK_LE(returned_, acked_);
  while (returned_ != acked_ && !outgoing(returned_).borrowed) ++returned_;
}

void SendSide::return_copied() {
  for (; !copied_.empty(); copied_.pop_front()) events_.on_returned(copied_.front());
}

void SendSide::give_back(Outgoing& message) {
  DCHECK_NE(borrowed_, 0u);
  message.borrowed = false;
  --borrowed_;
  events_.on_returned(message.sequence);
}

void SendSide::free_buffer(uint64_t sequence) {
  if (sequence < acked_) return;
  Outgoing& message = outgoing(sequence);
  free_buffer(message);
  if (message.borrowed) give_back(message);
}

void SendSide::free_buffer(Outgoing& message) {
  if (message.buffer) message.buffer.give_back();
  if (std::exchange(message.on_demand, false)) --on_demand_;
}

RemoteBuffer SendSide::other_slot(uint64_t sequence) const {
  const uint64_t offset = (sequence & (out_.size() - 1)) * stride(shape_);
  return {other_window_.address + offset, stride(shape_), other_window_.rkey};
}

WorkRequest& SendSide::post_message(const Outgoing& message, Opcode opcode,
                                    const RemoteBuffer& remote) {
  auto* slot = reinterpret_cast<std::byte*>(message.envelope);
  const bool together = message.payload.data == slot + sizeof(Envelope);
  const auto head = static_cast<uint32_t>(sizeof(Envelope));
  WorkRequest& work =
      lane_.post(opcode, {slot, together ? message.bytes() : head, slots_.lkey()}, remote);
  if (!together && message.payload.bytes != 0) chain_.gather(message.payload);
  return work;
}

}  // namespace hat::engine
