// SPDX-License-Identifier: Apache-2.0
// engine/rdma/rdma_lane.cc: the life of a lane: how it is created, connected and ended.
#include "engine/rdma/rdma_lane.h"

#include <algorithm>
#include <bit>

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
      in_(options.in.slots),
      chain_(options.send_entries, inline_bytes_of(options, poller.fabric().limits())) {}

Result<void> RdmaLane::make() {
  HAT_TRY_VOID(take_memory());
  out_.resize(options_.out.slots);
  HAT_TRY(queue_pair_,
          poller_.fabric().create_queue_pair({.send_cq = poller_.completion_queue(),
                                              .recv_cq = poller_.completion_queue(),
                                              .srq = poller_.receive_queue(),
                                              .send_entries = options_.send_entries,
                                              .inline_bytes_max = chain_.inline_bytes_max(),
                                              .access = {.write = true, .read = true},
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
  // The other side may send by the legs of the lane's shape, and by two more: by kSend, which
  // leg_for() chooses for some messages, and by kReadRndv. On a lane whose leg is fetch, the other
  // side uses these two when this side has stopped to READ messages by itself.
  for (const Leg leg : {Leg::kSend, Leg::kReadRndv, options_.in.leg, options_.in.beyond}) {
    receives_by_ |= 1u << static_cast<uint32_t>(leg);
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
  const std::array<Buffer*, kLanePieces> buffers = {&slots_,        &control_bytes_,  &window_,
                                                    &sender_extra_, &receiver_extra_, &scratch_};
  const auto pieces = pieces_of(options_);
  for (size_t i = 0; i < kLanePieces; ++i) {
    if (pieces[i].bytes == 0) continue;
    auto taken = poller_.arena().take(pieces[i].purpose, pieces[i].bytes);
    if (!taken) {
      return hat::fail(ErrorCode::kExhausted,
                       "RDMA lane: no memory left for " + std::to_string(pieces[i].bytes) +
                           " bytes of its " + pieces[i].what +
                           ": raise fabric.max_pinned, or lower payload_size");
    }
    *buffers[i] = std::move(*taken);
    std::ranges::fill(buffers[i]->bytes(), std::byte{0});  // clears an earlier lane's bytes
  }
  return {};
}

RdmaLane::~RdmaLane() {
  if (queue_pair_) poller_.remove(*this);
  queue_pair_.reset();
  for (Arrival& arrival : in_.all()) release(arrival);
}

void RdmaLane::leave() {
  queue_pair_->fail();
  poller_.remove(*this);
  for (Arrival& arrival : in_.all()) give_back_receive(arrival);
}

bool RdmaLane::settled() const { return queue_pair_->settled(); }

uint32_t RdmaLane::receives_needed() const { return receives_of(options_); }

LaneOffer RdmaLane::offer() const {
  return {.queue_pair = queue_pair_->address(),
          .slots = remote_buffer_of(slots_),
          .window = remote_buffer_of(window_),
          .sender_extra = remote_buffer_of(sender_extra_),
          .receiver_extra = remote_buffer_of(receiver_extra_),
          .message_bytes_max = largest(Purpose::kReceive)};
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

void RdmaLane::go_down(const std::string& reason) {
  if (broken()) return;
  state_ = State::kFailed;
  why_down_ = reason;
  queue_pair_->fail();
  if (in_calls_ == 0) tell_down();
}

void RdmaLane::tell_down() {
  DCHECK(state_ != State::kUp);
  if (std::exchange(state_, State::kDown) == State::kFailed) events_.on_down(why_down_);
}

void RdmaLane::end(const std::string& reason) {
  go_down(reason);
  tell_down();
}

void RdmaLane::settle() {
  const InCall guard(*this);
  if (acked_ != sent_) send_control(ControlKind::kTell, Leg::kSend, sent_ - 1);
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

Fate RdmaLane::fate(uint64_t number) const {
  if (number < acked_) return Fate::kDelivered;
  if (number >= sent_) return Fate::kNotDelivered;
  const Outgoing& message = out_[number & (out_.size() - 1)];
  return message.exposed ? Fate::kUnknown : Fate::kNotDelivered;
}

}  // namespace hat::engine
