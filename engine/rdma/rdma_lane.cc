// SPDX-License-Identifier: Apache-2.0
#include "engine/rdma/rdma_lane.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "engine/rdma/lane_memory.h"
#include "engine/rdma/poller.h"

namespace hat::engine {
namespace {

constexpr uint32_t kSendEntriesMin = 64;

RemoteBuffer remote_buffer_of(const Buffer& buffer) {
  if (!buffer) return {};
  return {buffer.address(), static_cast<uint32_t>(buffer.bytes().size()), buffer.rkey()};
}

uint32_t inline_bytes_of(const RdmaLaneOptions& options, const FabricLimits& limits) {
  return std::min(options.inline_bytes_max, limits.inline_bytes_max);
}

}  // namespace

Result<std::unique_ptr<RdmaLane>> RdmaLane::create(Poller& poller, const RdmaLaneOptions& options,
                                                   LaneEvents& events) {
  if (options.send_entries < kSendEntriesMin)
    return hat::fail(ErrorCode::kInvalid, "RDMA lane: too few send entries");
  for (const LaneShape& shape : {options.out, options.in}) {
    if (const char* wrong = invalid(shape))
      return fail(ErrorCode::kInvalid, std::string("RDMA lane: ") + wrong);
  }
  std::unique_ptr<RdmaLane> lane(new RdmaLane(poller, options, events));
  HAT_TRY_VOID(lane->make());
  return lane;
}

RdmaLane::RdmaLane(Poller& poller, const RdmaLaneOptions& options, LaneEvents& events)
    : poller_(poller),
      options_(options),
      events_(events),
      chain_(options.send_entries, inline_bytes_of(options, poller.fabric().limits())),
      sender_(*this, chain_, options.out, events),
      receiver_(*this, options.in, events) {}

Result<void> RdmaLane::make() {
  HAT_TRY_VOID(take_memory());
  HAT_TRY(queue_pair_,
          poller_.fabric().create_queue_pair({.send_cq = poller_.completion_queue(),
                                              .recv_cq = poller_.completion_queue(),
                                              .srq = poller_.receive_queue(),
                                              .send_entries = options_.send_entries,
                                              .inline_bytes_max = chain_.inline_bytes_max(),
                                              .access = access_for(options_.out, options_.in),
                                              .ack_timeout = options_.ack_timeout,
                                              .retries = options_.retries,
                                              .rnr_retries = options_.rnr_retries}));
  for (const Leg leg :
       {Leg::kSend, Leg::kWriteRndv, Leg::kReadRndv, options_.out.leg, options_.in.leg}) {
    auto& handler = handlers_[static_cast<size_t>(leg)];
    if (handler) continue;
    handler = row(leg).make(*this, leg);
    used_.push_back(handler.get());
    if (row(leg).late) late_.push_back(handler.get());
  }
  number_ = queue_pair_->number();
  return poller_.add(*this);
}

size_t RdmaLane::largest(Purpose purpose) const {
  return std::min<size_t>(kMessageBytesMax, poller_.arena().message_bytes_max(purpose));
}

std::span<std::byte> RdmaLane::scratch_in() const {
  return scratch_.bytes().first(size_t{options_.in.slots} * row(options_.in.leg).scratch);
}

std::span<std::byte> RdmaLane::scratch_out() const {
  return scratch_.bytes().subspan(scratch_in().size());
}

Result<void> RdmaLane::take_memory() {
  std::array<Buffer, kLanePieces> buffers;
  const auto pieces = pieces_of(options_);
  for (size_t i = 0; i < kLanePieces; ++i) {
    if (pieces[i].bytes == 0) continue;
    auto taken = poller_.arena().take(pieces[i].purpose, pieces[i].bytes);
    if (!taken) {
      return hat::fail(ErrorCode::kExhausted,
                       "RDMA lane: no memory left for " + std::to_string(pieces[i].bytes) +
                           " bytes of its " + pieces[i].what +
                           ": raise fabric.max_pinned, or lower payload_size" +
                           poller_.arena().refusal_text(pieces[i].purpose));
    }
    buffers[i] = std::move(*taken);
    std::ranges::fill(buffers[i].bytes(), std::byte{0});  // removes the bytes of an earlier lane
  }
  auto& [slots, control_bytes, window, sender_extra, receiver_extra, scratch] = buffers;
  sender_.set_memory(std::move(slots), std::move(sender_extra));
  receiver_.set_memory(std::move(window), std::move(receiver_extra));
  control_bytes_ = std::move(control_bytes);
  scratch_ = std::move(scratch);
  return {};
}

RdmaLane::~RdmaLane() {
  if (queue_pair_) poller_.remove(*this);
  queue_pair_.reset();
  receiver_.release_all();
}

void RdmaLane::leave() {
  queue_pair_->fail();
  poller_.remove(*this);
  receiver_.give_back_receives();
}

bool RdmaLane::settled() const { return queue_pair_->settled(); }

uint32_t RdmaLane::receives_needed() const { return receives_of(options_); }

LaneOffer RdmaLane::offer() const {
  return {.queue_pair = queue_pair_->address(),
          .slots = remote_buffer_of(sender_.slots()),
          .window = remote_buffer_of(receiver_.window()),
          .sender_extra = remote_buffer_of(sender_.extra()),
          .receiver_extra = remote_buffer_of(receiver_.extra()),
          .message_bytes_max =
              std::min<size_t>(largest(Purpose::kReceive), options_.rendezvous.message_bytes_max)};
}

Result<void> RdmaLane::connect(const LaneOffer& other) {
  const LegRow& out = row(options_.out.leg);
  const LegRow& in = row(options_.in.leg);
  const bool fits = other.slots.bytes >= bytes_of(options_.in) &&
                    (!out.window || other.window.bytes >= bytes_of(options_.out)) &&
                    other.sender_extra.bytes >= size_t{options_.in.slots} * in.sender_extra &&
                    other.receiver_extra.bytes >= size_t{options_.out.slots} * out.receiver_extra;
  if (!fits) {
    return hat::fail(ErrorCode::kProtocol,
                     "RDMA lane: the peer offers less memory than the lane needs");
  }
  other_ = other;
  sender_.set_other_window(other.window);
  message_bytes_max_ = std::min<size_t>(largest(Purpose::kSend), other.message_bytes_max);
  return queue_pair_->connect(other.queue_pair);
}

// --- The end of a lane ---

void RdmaLane::breaks(const char* what) {
  go_down(std::string("the peer violates the lane protocol: ") + what);
}

void RdmaLane::on_queue_pair_error(const std::string& detail) {
  go_down("the queue pair failed: " + detail);
}

void RdmaLane::on_receive_queue_error(const std::string& detail) {
  go_down("the receive queue failed: " + detail);
}

void RdmaLane::go_down(const std::string& reason) {
  if (broken()) return;
  state_ = State::kFailed;
  why_down_ = reason;
  queue_pair_->fail();
  if (in_calls_ == 0) report_down();
}

void RdmaLane::check_refusal(Purpose purpose, size_t bytes) {
  const Arena& arena = poller_.arena();
  if (bytes <= arena.message_bytes_max(purpose)) return;
  go_down("there is no memory for a message of " + std::to_string(bytes) + " bytes" +
          arena.message_refusal_text(purpose));
}

void RdmaLane::report_down() {
  DCHECK(state_ != State::kUp);
  if (std::exchange(state_, State::kDown) == State::kFailed) events_.on_down(why_down_);
}

void RdmaLane::end(const std::string& reason) {
  go_down(reason);
  report_down();
}

void RdmaLane::settle() {
  const InCall guard(*this);
  if (sender_.acked() == sender_.sent()) return;
  send_control(ControlKind::kTell, Leg::kSend, sender_.sent() - 1);
}

bool RdmaLane::probe() {
  const InCall guard(*this);
  if (broken() || probing_ || space() == 0) return false;
  probing_ = true;
  post(Opcode::kWrite, {});
  chain_.await(RequestChain::Waiter::kProbe, {}, 0);
  post_chain();
  return true;
}

// --- Frames and messages ---

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
  const uint64_t number = sender_.next_number();
  const InCall guard(*this);
  if (broken() || !may_send(bytes)) return number;
  header.payload_bytes = static_cast<uint32_t>(bytes);
  receiver_.expect_replies(header);
  sender_.send(header, pieces, borrowed);
  return number;
}

bool RdmaLane::may_send(size_t bytes) {
  if (bytes <= message_bytes_max_) return true;
  go_down("a message of " + std::to_string(bytes) +
          " bytes is too large: the two sides have memory for " +
          std::to_string(message_bytes_max_) + " bytes at most; raise fabric.max_pinned");
  return false;
}

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
    return receiver_.take_message(envelope, receive, {bytes, done.bytes});
  if (sender_.take_report(envelope)) {
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
  receiver_.report_when_delivered(control.sequence);
}

void RdmaLane::take_imm(uint32_t imm, uint32_t bytes) {
  const auto leg = static_cast<Leg>(imm >> kImmSequenceBits);
  const auto sequence = receiver_.coming_sequence(imm, kImmSequenceBits);
  if (!sequence || !receiver_.receives_by(leg))
    return breaks("it sent a message that is not expected now");
  if (LegHandler* handler = handler_for(leg)) handler->on_imm(*sequence, bytes);
}

LegHandler* RdmaLane::handler_for(Leg leg) {
  const auto index = static_cast<size_t>(leg);
  LegHandler* handler = index < handlers_.size() ? handlers_[index].get() : nullptr;
  if (handler == nullptr) breaks("it uses a leg that this lane does not have");
  return handler;
}

// --- Polling ---

uint64_t RdmaLane::first_waiting() const {
  uint64_t first = UINT64_MAX;
  for (const LegHandler* handler : used_) first = std::min(first, handler->first_waiting());
  return first;
}

bool RdmaLane::wants_poll() const {
  return sender_.starved() || std::ranges::any_of(used_, [](const LegHandler* handler) {
           return handler->may_poll() && handler->wants_poll();
         });
}

bool RdmaLane::poll() {
  bool found = sender_.starved() && sender_.begin_waiting();
  for (LegHandler* handler : used_) {
    if (!broken() && handler->may_poll() && handler->wants_poll()) found |= handler->poll();
  }
  return found;
}

void RdmaLane::after_poll() {
  if (broken()) return report_down();
  if (!pending_controls_.empty()) post_controls();
  if (sender_.has_waiting()) sender_.begin_waiting();
  // Sends a credit when the number of delivered but unreported messages has reached half the number
  // of slots, or 1 with the option confirm_each.
  const uint64_t report_from = options_.confirm_each ? 1 : options_.in.slots / 2u;
  if (receiver_.unreported() >= report_from && pending_controls_.empty())
    send_control(ControlKind::kCredit, Leg::kSend, 0);
  flush();
}

bool RdmaLane::wants_send_completions() const {
  return chain_.has_waiters() || sender_.has_borrowed() || !pending_controls_.empty() ||
         space() < SendSide::kRequestsMax;
}

}  // namespace hat::engine
