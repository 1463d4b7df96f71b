// SPDX-License-Identifier: Apache-2.0
// engine/rdma/sending.cc: turns frames into messages: puts each into a slot or a buffer, and starts
// its leg.
#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "engine/rdma/poller.h"
#include "engine/rdma/rdma_lane.h"
#include "engine/rdma/sum.h"

namespace hat::engine {

uint64_t RdmaLane::send(FrameHeader header, std::initializer_list<Bytes> pieces) {
  size_t bytes = 0;
  for (const Bytes piece : pieces) bytes += piece.size();
  return send(header, bytes, {pieces.begin(), pieces.size()}, nullptr);
}

uint64_t RdmaLane::send_zero_copy(FrameHeader header, const BorrowedRange& payload) {
  return send(header, payload.segment.bytes, {}, &payload);
}

uint64_t RdmaLane::send(FrameHeader header, size_t bytes, std::span<const Bytes> pieces,
                        const BorrowedRange* borrowed) {
  const uint64_t number = sent_ + waiting_.size();
  const InCall guard(*this);
  if (broken() || !may_send(bytes)) return number;
  header.payload_bytes = static_cast<uint32_t>(bytes);
  const bool asks = header.kind == FrameKind::kCall || header.kind == FrameKind::kMore;
  if (asks && header.replies != 0) ++due_;
  if (!waiting_.empty() || !begin(header, pieces, borrowed)) keep_waiting(header, pieces, borrowed);
  return number;
}

bool RdmaLane::may_send(size_t bytes) {
  if (bytes <= message_bytes_max_) return true;
  go_down("a message of " + std::to_string(bytes) +
          " bytes is too large: the two sides have memory for " +
          std::to_string(message_bytes_max_) + " bytes at most; raise fabric.max_pinned");
  return false;
}

// Returns the leg that moves a frame. A leg that only carries replies is chosen only for a reply
// that the other side READs: for other frames the other side may not poll its slots.
Leg RdmaLane::leg_for(const FrameHeader& frame) const {
  const LaneShape& shape = options_.out;
  const uint32_t bytes = frame.payload_bytes;
  const uint32_t fits =
      shape.leg == Leg::kSend ? std::min(shape.slot_bytes, kEagerBytesMax) : shape.slot_bytes;
  if (bytes > fits) return shape.beyond;
  const LegRow& wanted = row(shape.leg);
  if (wanted.on_demand && bytes != 0) return shape.leg;
  const bool answers = (frame.kind == FrameKind::kReply || frame.kind == FrameKind::kMore) &&
                       (frame.flags & kEarly) == 0;             // R does not poll for early pieces
  const bool is_read = answers && fetch_epoch_there_ % 2 == 1;  // otherwise it is pushed at once
  if (!wanted.on_demand && (!wanted.replies || is_read)) return shape.leg;
  return bytes <= kEagerBytesMax ? Leg::kSend : shape.beyond;
}

// Returns false if no slot, send entry or buffer is free for the frame now.
bool RdmaLane::begin(const FrameHeader& header, std::span<const Bytes> pieces,
                     const BorrowedRange* borrowed) {
  if (sent_ - returned_ == out_.size() || space() < kRequestsMax) return false;
  Outgoing& message = outgoing(sent_);
  message.leg = leg_for(header);
  const bool on_demand = row(message.leg).on_demand;
  if (on_demand && rendezvous_out_ == kRendezvousMax) return false;
  message.sequence = sent_;
  message.frame = header;
  message.exposed = true;
  if (!stage(message, pieces, borrowed)) return false;
  message.on_demand = on_demand;
  if (on_demand) ++rendezvous_out_;
  ++sent_;
  chain_.signal_every(message.borrowed);  // the completion allows the range to be returned
  handler(message.leg).start(message);
  chain_.signal_every(false);
  message.posted = chain_.posted();
  if (message.borrowed) ++borrowed_;
  if (borrowed != nullptr && !message.borrowed) copied_.push_back(message.sequence);
  return true;
}

bool RdmaLane::stage(Outgoing& message, std::span<const Bytes> pieces,
                     const BorrowedRange* borrowed) {
  std::byte* slot =
      slots_.bytes().data() + (message.sequence & (out_.size() - 1)) * stride(options_.out);
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
    auto buffer = poller_.arena().take_message(Purpose::kSend, message.frame.payload_bytes);
    starved_ = !buffer;
    if (!buffer) return false;
    message.buffer = std::move(*buffer);
    message.payload.data = message.buffer.bytes().data();
    message.payload.lkey = message.buffer.lkey();
    message.payload_rkey = message.buffer.rkey();
  }
  std::byte* at = message.payload.data;
  for (const Bytes piece : pieces) at = std::copy(piece.begin(), piece.end(), at);
  Envelope& envelope = *message.envelope;
  envelope = {.sequence = static_cast<uint32_t>(message.sequence),
              .delivered = static_cast<uint32_t>(in_.next()),
              .kind = ControlKind::kMessage,
              .leg = message.leg,
              .fetch_epoch = fetch_epoch_,
              .frame = message.frame};
  if (leg.sums) envelope.checksum = sum_of(envelope, message.payload.data);
  to_tell_ = 0;
  return true;
}

// --- Waiting frames ---

void RdmaLane::keep_waiting(const FrameHeader& header, std::span<const Bytes> pieces,
                            const BorrowedRange* borrowed) {
  waiting_.push_back(header, pieces, borrowed);
  congested_ = congested_ || waiting_.bytes() > kCongestedBytes;
  if (waiting_.bytes() > kQueuedBytesMax)
    go_down("the peer takes no more data, and too much is queued");
}

void RdmaLane::begin_waiting() {
  while (!waiting_.empty() && !broken()) {
    const Bytes copied = waiting_.copied();
    starved_ = false;
    const std::span<const Bytes> pieces(&copied, copied.empty() ? 0u : 1u);
    if (!begin(waiting_.header(), pieces, waiting_.borrowed())) return;
    waiting_.pop_front();
  }
  if (waiting_.empty() && congested_ && !broken()) {
    congested_ = false;
    events_.on_uncongested();
  }
}

// --- Acknowledged messages ---

std::optional<uint64_t> RdmaLane::sent_sequence(uint32_t low_bits) const {
  const uint64_t number = acked_ + (low_bits - static_cast<uint32_t>(acked_));
  return number < sent_ ? std::optional(number) : std::nullopt;
}

void RdmaLane::acknowledge(uint64_t delivered) {
  DCHECK(acked_ <= delivered && delivered <= sent_) << acked_ << ", " << delivered << ", " << sent_;
  while (rendezvous_out_ != 0 && acked_ != delivered) free_buffer(outgoing(acked_++));
  acked_ = delivered;
  return_borrowed();
}

// Returns the borrowed ranges that this side's device has finished reading. An `on_demand` message
// is different: its leg handler returns the range, or else its acknowledgement does.
void RdmaLane::return_borrowed() {
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

void RdmaLane::give_back(Outgoing& message) {
  DCHECK_NE(borrowed_, 0u);
  message.borrowed = false;
  --borrowed_;
  events_.on_returned(message.sequence);
}

void RdmaLane::free_buffer(uint64_t sequence) {
  if (sequence < acked_) return;
  Outgoing& message = outgoing(sequence);
  free_buffer(message);
  if (message.borrowed) give_back(message);
}

void RdmaLane::free_buffer(Outgoing& message) {
  if (message.buffer) message.buffer.give_back();
  if (std::exchange(message.on_demand, false)) --rendezvous_out_;
}

RemoteBuffer RdmaLane::other_slot(uint64_t sequence) const {
  const uint64_t offset = (sequence & (out_.size() - 1)) * stride(options_.out);
  return {other_.window.address + offset, stride(options_.out), other_.window.rkey};
}

}  // namespace hat::engine
