// SPDX-License-Identifier: Apache-2.0
#include "engine/rdma/receive_side.h"

#include <algorithm>
#include <cstring>

#include "engine/rdma/poller.h"
#include "engine/rdma/rdma_lane.h"

namespace hat::engine {

using Stage = Arrival::Stage;

namespace {

// Returns how many calls a frame ends. A piece of a reply ends one call if it is the last piece and
// not early (kEarly); the header of any other frame has the number.
uint64_t answers_in(const FrameHeader& frame) {
  const bool answers = frame.kind == FrameKind::kReply || frame.kind == FrameKind::kMore;
  if (!answers) return frame.replies;
  return (frame.flags & (kLastPiece | kEarly)) == kLastPiece ? 1 : 0;
}

// Returns nullptr if a frame is valid on an RDMA lane, or else a constant string that says why it
// is not.
const char* invalid_here(const FrameHeader& frame) {
  if (frame.stream == 0 || is_of_link(frame.kind))
    return "a frame of the link is not allowed on an RDMA lane";
  return invalid(frame, kMessageBytesMax);
}

}  // namespace

ReceiveSide::ReceiveSide(RdmaLane& lane, const LaneShape& shape, LaneEvents& events)
    : lane_(lane), shape_(shape), events_(events), in_(shape.slots) {}

void ReceiveSide::set_memory(Buffer window, Buffer extra) {
  window_ = std::move(window);
  extra_ = std::move(extra);
}

// Returns true if the other side can send by `leg`: one of the two legs of its shape; kSend, for
// small frames that the shape's leg does not carry (SendSide::leg_for()); or kReadRndv, which a
// fetch leg uses for large replies that wait in slots while this side READs none (Fetch::push()).
bool ReceiveSide::receives_by(Leg leg) const {
  return leg == Leg::kSend || leg == Leg::kReadRndv || leg == shape_.leg || leg == shape_.beyond;
}

void ReceiveSide::expect_replies(const FrameHeader& sent) {
  const bool asks = sent.kind == FrameKind::kCall || sent.kind == FrameKind::kMore;
  if (asks && sent.replies != 0) ++due_;
}

// --- Reports to the other side ---

void ReceiveSide::write_report(Envelope& envelope) {
  envelope.delivered = static_cast<uint32_t>(in_.next());
  envelope.fetch_epoch = fetch_epoch_;
  unreported_ = 0;
}

void ReceiveSide::report_when_delivered(uint32_t low_bits) {
  const uint64_t last = in_.next() - 1;
  const auto ahead = static_cast<int32_t>(low_bits - static_cast<uint32_t>(last));
  report_at_ = last + static_cast<uint64_t>(ahead);
  report_if_asked();
}

void ReceiveSide::report_if_asked() {
  if (report_at_ == UINT64_MAX || in_.next() <= report_at_) return;
  report_at_ = UINT64_MAX;
  lane_.send_control(ControlKind::kCredit, Leg::kSend, 0);
}

// --- Messages ---

void ReceiveSide::take_message(const Envelope& envelope, uint32_t receive,
                               std::span<const std::byte> bytes) {
  const auto sequence = coming_sequence(envelope.sequence, 32);
  const Bytes payload = bytes.subspan(sizeof envelope);
  const bool whole = envelope.frame.payload_bytes == payload.size();
  if (!sequence || !whole || envelope.leg != Leg::kSend || !lane_.sender().take_report(envelope)) {
    lane_.poller().give_back(receive);
    return lane_.breaks("it sent a message that is not expected now");
  }
  if (*sequence != in_.next() || delivering_) {
    return put(
        *sequence,
        {.leg = Leg::kSend, .frame = envelope.frame, .payload = payload, .receive = receive});
  }
  deliver(envelope.frame, payload, Leg::kSend);
  lane_.poller().give_back(receive);
  deliver_what_waited();
}

std::optional<uint64_t> ReceiveSide::coming_sequence(uint64_t low_bits, uint32_t bits) const {
  const uint64_t mask = (uint64_t{1} << bits) - 1;
  const uint64_t number = in_.next() + ((low_bits - in_.next()) & mask);
  return in_.is_coming(number) ? std::optional(number) : std::nullopt;
}

Segment ReceiveSide::slot_of(uint64_t sequence, uint32_t bytes) const {
  const size_t offset = (sequence & (in_.slots() - 1)) * stride(shape_);
  return {window_.bytes().data() + offset, bytes, window_.lkey()};
}

bool ReceiveSide::arrive_in_window(uint64_t sequence, Leg leg) {
  const Segment slot = slot_of(sequence, stride(shape_));
  Envelope envelope;  // a copy, because the other side can write to the slot at any time
  std::memcpy(&envelope, slot.data, sizeof envelope);
  const bool good = envelope.frame.payload_bytes <= shape_.slot_bytes &&
                    envelope.sequence == static_cast<uint32_t>(sequence) && envelope.leg == leg &&
                    envelope.kind == ControlKind::kMessage;
  if (!good) {
    lane_.breaks("a slot does not contain the message that it announced");
    return false;
  }
  if (!lane_.sender().take_report(envelope)) return false;
  const Bytes payload(slot.data + sizeof envelope, envelope.frame.payload_bytes);
  if (sequence != in_.next() || delivering_) {
    put(sequence, {.leg = leg, .frame = envelope.frame, .payload = payload});
    return true;
  }
  // The usual case: the message is the next in order, so it is delivered at once and not kept.
  deliver(envelope.frame, payload, leg);
  deliver_what_waited();
  return true;
}

bool ReceiveSide::announce(uint64_t sequence, const FrameHeader& frame) {
  DCHECK(in_.is_coming(sequence));
  Arrival& arrival = in_.at(sequence);
  if (arrival.stage != Stage::kUnknown) return false;
  arrival = {.stage = Stage::kAnnounced, .frame = frame};
  return true;
}

// The bytes of a stream go to its application in order. So a message has a landing only if all
// earlier bytes of its stream have one: if each earlier message that is not delivered yet is of
// another stream, or has a landing. The stream of an unknown message is not known. The message can
// wait for earlier messages only if all of these have memory: one without memory could itself wait
// for this message.
Landing ReceiveSide::landing_for(uint64_t sequence) {
  Arrival& arrival = in_.at(sequence);
  if (delivering_ || invalid_here(arrival.frame) != nullptr) return {};
  bool is_next = true;
  bool may_wait = true;
  for (uint64_t earlier = in_.next(); earlier != sequence; ++earlier) {
    const Arrival& other = in_.at(earlier);
    if (other.stage == Stage::kUnknown) return {};
    may_wait = may_wait && other.stage >= Stage::kMoving;
    is_next = is_next && (other.landed || other.frame.stream != arrival.frame.stream);
  }
  Landing landing = events_.landing_for(arrival.frame, is_next);
  DCHECK(is_next || landing.data == nullptr) << "earlier bytes of the stream have no landing";
  landing.later = landing.later && may_wait;
  arrival.landed = landing.data != nullptr;
  return landing;
}

void ReceiveSide::arrive(uint64_t sequence, const FrameHeader& frame, Bytes payload, Buffer buffer,
                         Leg leg) {
  const bool landed = !buffer;
  put(sequence, {.landed = landed,
                 .leg = leg,
                 .frame = frame,
                 .payload = payload,
                 .buffer = std::move(buffer)});
}

void ReceiveSide::put(uint64_t sequence, Arrival arrival) {
  if (!in_.is_coming(sequence)) {
    if (arrival.receive) lane_.poller().give_back(*arrival.receive);
    return lane_.breaks("it sent a message twice");
  }
  in_.keep(sequence, std::move(arrival));
  deliver_what_waited();
}

void ReceiveSide::deliver_what_waited() {
  while (!lane_.broken() && !delivering_ && arrival(in_.next()).here()) {
    Arrival& arrival = this->arrival(in_.next());
    deliver(arrival.frame, arrival.payload, arrival.leg);
    release(arrival);
  }
}

void ReceiveSide::deliver(const FrameHeader& frame, Bytes payload, Leg leg) {
  if (const char* wrong = invalid_here(frame)) return lane_.breaks(wrong);
  due_ -= std::min(due_, answers_in(frame));
  delivering_ = true;
  leg_of_delivery_ = leg;
  events_.on_frame(frame, payload);
  delivering_ = false;
  // A hostile sender can have announced the message, and then sent it by another leg.
  if (Arrival& arrival = in_.at(in_.next()); !arrival.here()) arrival.stage = Stage::kUnknown;
  const uint64_t delivered = in_.advance();
  if (!row(leg).recycles) ++unreported_;
  lane_.handler(shape_.leg).on_delivered(delivered);
  report_if_asked();
}

void ReceiveSide::release_all() {
  for (Arrival& arrival : in_.all()) release(arrival);
}

void ReceiveSide::give_back_receives() {
  for (Arrival& arrival : in_.all()) give_back_receive(arrival);
}

void ReceiveSide::release(Arrival& arrival) {
  if (!arrival.here()) return;
  arrival.stage = Stage::kUnknown;
  give_back_receive(arrival);
  arrival.buffer.give_back();
}

void ReceiveSide::give_back_receive(Arrival& arrival) {
  if (arrival.receive) lane_.poller().give_back(*arrival.receive);
  arrival.receive.reset();
}

uint32_t ReceiveSide::due() const {
  if (due_ != 0) return static_cast<uint32_t>(std::min<uint64_t>(due_, in_.slots()));
  return in_.has_gap() ? 1 : 0;
}

void ReceiveSide::prefetch_next() const {
  if (!window_) return;
  const std::byte* slot = slot_of(in_.next(), 0).data;
  __builtin_prefetch(slot);
  __builtin_prefetch(slot + 64);
}

}  // namespace hat::engine
