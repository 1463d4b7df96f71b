// SPDX-License-Identifier: Apache-2.0
// engine/rdma/receiving.cc: turns completions and slots into frames, and delivers them in the order
// of sending.
#include <algorithm>
#include <cstring>

#include "engine/rdma/poller.h"
#include "engine/rdma/rdma_lane.h"

namespace hat::engine {
namespace {

// Returns the number of calls that a frame ends. A frame that is not a piece of a reply states the
// number in its header.
uint64_t answers_in(const FrameHeader& frame) {
  const bool answers = frame.kind == FrameKind::kReply || frame.kind == FrameKind::kMore;
  if (!answers) return frame.replies;
  return (frame.flags & (kLastPiece | kEarly)) == kLastPiece ? 1 : 0;
}

// Returns nullptr, or why our senders never send this frame on an RDMA lane.
const char* invalid_here(const FrameHeader& frame) {
  if (frame.stream == 0 || is_of_link(frame.kind))
    return "a frame of the link is not allowed on an RDMA lane";
  return invalid(frame, kMessageBytesMax);
}

}  // namespace

// --- Completions ---

void RdmaLane::on_receive(const Completion& done, uint32_t receive, const std::byte* bytes) {
  if (done.status != Status::kSuccess) {
    poller_.give_back(receive);
    return go_down("a receive failed: " + std::string(text(done.status)));
  }
  if (done.opcode == Opcode::kReceiveWriteImm) {
    poller_.give_back(receive);
    return take_imm(done.imm, done.bytes);
  }
  if (done.bytes < sizeof(Envelope)) {
    poller_.give_back(receive);
    return breaks("a SEND is shorter than its envelope");
  }
  Envelope envelope;
  std::memcpy(&envelope, bytes, sizeof envelope);
  if (envelope.kind == ControlKind::kMessage)
    return take_message(envelope, receive, bytes, done.bytes);
  if (take_envelope(envelope)) {
    take_control(envelope, {bytes + sizeof envelope, done.bytes - sizeof envelope});
  }
  poller_.give_back(receive);
}

void RdmaLane::take_control(const Envelope& control, std::span<const std::byte> body) {
  if (control.kind == ControlKind::kCredit) return;
  if (control.kind != ControlKind::kTell) {
    if (LegHandler* handler = handler_for(control.leg)) handler->on_control(control, body);
    return;
  }
  tell_at_ = in_.next() - 1 +
             static_cast<uint64_t>(
                 static_cast<int32_t>(control.sequence - static_cast<uint32_t>(in_.next() - 1)));
  tell_if_asked();
}

void RdmaLane::tell_if_asked() {
  if (tell_at_ == UINT64_MAX || in_.next() <= tell_at_) return;
  tell_at_ = UINT64_MAX;
  send_control(ControlKind::kCredit, Leg::kSend, 0);
}

void RdmaLane::take_imm(uint32_t imm, uint32_t bytes) {
  const auto leg = static_cast<Leg>(imm >> kImmSequenceBits);
  const auto sequence = coming_sequence(imm, kImmSequenceBits);
  if (!sequence || !receives_by(leg)) return breaks("it sent a message that is not expected now");
  if (LegHandler* handler = handler_for(leg)) handler->on_imm(*sequence, bytes);
}

LegHandler* RdmaLane::handler_for(Leg leg) {
  const auto index = static_cast<size_t>(leg);
  LegHandler* handler = index < handlers_.size() ? handlers_[index].get() : nullptr;
  if (handler == nullptr) breaks("it uses a leg that this lane does not have");
  return handler;
}

void RdmaLane::take_message(const Envelope& envelope, uint32_t receive, const std::byte* bytes,
                            uint32_t count) {
  const auto sequence = coming_sequence(envelope.sequence, 32);
  const bool whole = envelope.frame.payload_bytes == count - sizeof envelope;
  if (!sequence || !whole || envelope.leg != Leg::kSend || !take_envelope(envelope)) {
    poller_.give_back(receive);
    return breaks("it sent a message that is not expected now");
  }
  const Bytes payload(bytes + sizeof envelope, envelope.frame.payload_bytes);
  if (*sequence != in_.next() || delivering_) {
    return put(
        *sequence,
        {.leg = Leg::kSend, .frame = envelope.frame, .payload = payload, .receive = receive});
  }
  deliver(envelope.frame, payload, Leg::kSend);
  poller_.give_back(receive);
  deliver_what_waited();
}

// Takes the fields that every envelope carries, of messages and of control messages. Returns false
// if the other side has broken the format.
bool RdmaLane::take_envelope(const Envelope& envelope) {
  const auto epoch_ahead = static_cast<int8_t>(envelope.fetch_epoch - fetch_epoch_there_);
  if (epoch_ahead > 0) fetch_epoch_there_ = envelope.fetch_epoch;
  // This side may find a message after later ones, so an older number is not an error.
  const auto ahead = static_cast<int32_t>(envelope.delivered - static_cast<uint32_t>(acked_));
  if (ahead <= 0) return true;
  if (static_cast<uint64_t>(ahead) > sent_ - acked_) {
    breaks("it acknowledges more messages than were sent");
    return false;
  }
  acknowledge(acked_ + static_cast<uint64_t>(ahead));
  return true;
}

// --- Messages ---

std::optional<uint64_t> RdmaLane::coming_sequence(uint64_t low_bits, uint32_t bits) const {
  const uint64_t mask = (uint64_t{1} << bits) - 1;
  const uint64_t number = in_.next() + ((low_bits - in_.next()) & mask);
  return in_.is_coming(number) ? std::optional(number) : std::nullopt;
}

Segment RdmaLane::landing(uint64_t sequence, uint32_t bytes) const {
  const size_t offset = (sequence & (in_.slots() - 1)) * stride(options_.in);
  return {window_.bytes().data() + offset, bytes, window_.lkey()};
}

bool RdmaLane::arrive_in_window(uint64_t sequence, Leg leg) {
  const Segment slot = landing(sequence, stride(options_.in));
  Envelope envelope;  // copied once: the other side can write to the slot at any time
  std::memcpy(&envelope, slot.data, sizeof envelope);
  const bool good = envelope.frame.payload_bytes <= options_.in.slot_bytes &&
                    envelope.sequence == static_cast<uint32_t>(sequence) && envelope.leg == leg &&
                    envelope.kind == ControlKind::kMessage;
  if (!good) {
    breaks("a slot does not contain the message that it announced");
    return false;
  }
  if (!take_envelope(envelope)) return false;
  const Bytes payload(slot.data + sizeof envelope, envelope.frame.payload_bytes);
  if (sequence != in_.next() || delivering_) {
    put(sequence, {.leg = leg, .frame = envelope.frame, .payload = payload});
    return true;
  }
  deliver(envelope.frame, payload, leg);  // the usual case: no need to keep the message
  deliver_what_waited();
  return true;
}

void RdmaLane::arrive(uint64_t sequence, const FrameHeader& frame, Buffer buffer, Leg leg) {
  const Bytes payload = buffer.bytes();
  put(sequence, {.leg = leg, .frame = frame, .payload = payload, .buffer = std::move(buffer)});
}

void RdmaLane::put(uint64_t sequence, Arrival arrival) {
  if (!in_.is_coming(sequence)) {
    if (arrival.receive) poller_.give_back(*arrival.receive);
    return breaks("it sent a message twice");
  }
  in_.keep(sequence, std::move(arrival));
  deliver_what_waited();
}

void RdmaLane::deliver_what_waited() {
  while (!broken() && !delivering_ && arrival(in_.next()).here) {
    Arrival& arrival = this->arrival(in_.next());
    deliver(arrival.frame, arrival.payload, arrival.leg);
    release(arrival);
  }
}

void RdmaLane::deliver(const FrameHeader& frame, Bytes payload, Leg leg) {
  if (const char* wrong = invalid_here(frame)) return breaks(wrong);
  due_ -= std::min(due_, answers_in(frame));
  delivering_ = true;
  events_.on_frame(frame, payload);
  delivering_ = false;
  const uint64_t delivered = in_.advance();
  if (!row(leg).recycles) ++to_tell_;
  handler(options_.in.leg).on_delivered(delivered);
  tell_if_asked();
}

void RdmaLane::release(Arrival& arrival) {
  if (!arrival.here) return;
  arrival.here = false;
  give_back_receive(arrival);
  arrival.buffer.give_back();
}

void RdmaLane::give_back_receive(Arrival& arrival) {
  if (arrival.receive) poller_.give_back(*arrival.receive);
  arrival.receive.reset();
}

uint32_t RdmaLane::due() const {
  if (due_ != 0) return static_cast<uint32_t>(std::min<uint64_t>(due_, in_.slots()));
  return in_.has_gap() ? 1 : 0;
}

// --- Polling ---

uint64_t RdmaLane::first_waiting() const {
  uint64_t first = UINT64_MAX;
  for (const LegHandler* handler : used_) first = std::min(first, handler->first_waiting());
  return first;
}

bool RdmaLane::wants_poll() const {
  return starved_ || std::ranges::any_of(used_, [](const LegHandler* handler) {
           return handler->may_poll() && handler->wants_poll();
         });
}

bool RdmaLane::poll() {
  const uint64_t sent = sent_;
  if (starved_) begin_waiting();
  bool found = sent_ != sent;
  for (LegHandler* handler : used_) {
    if (!broken() && handler->may_poll() && handler->wants_poll()) found |= handler->poll();
  }
  return found;
}

void RdmaLane::after_look() {
  if (broken()) return tell_down();
  if (!pending_controls_.empty()) post_controls();
  if (!waiting_.empty() || congested_) begin_waiting();
  // Sends a credit once the unacknowledged messages are half as many as there are slots.
  const uint64_t tell_from = options_.confirm_each ? 1 : in_.slots() / 2;
  if (to_tell_ >= tell_from && pending_controls_.empty())
    send_control(ControlKind::kCredit, Leg::kSend, 0);
  flush();
}

bool RdmaLane::wants_send_completions() const {
  return chain_.has_waiters() || borrowed_ != 0 || !pending_controls_.empty() ||
         space() < kRequestsMax;
}

}  // namespace hat::engine
