// SPDX-License-Identifier: Apache-2.0
#include "engine/costs/target.h"

#include <algorithm>
#include <array>

#include "engine/fabric/sleep.h"

namespace hat::engine {
namespace {

constexpr uint32_t kReplyEntries = 16;
// Each peer needs two receive buffers, because its next call may arrive before the buffer of its
// last call is posted again.
constexpr uint32_t kReceivesPerPeer = 2;
constexpr uint32_t kPollsPerTakeEvents = 1000;

}  // namespace

Result<std::unique_ptr<Target>> Target::create(Fabric& fabric, const TargetOptions& options) {
  std::unique_ptr<Target> made(new Target(fabric, options));
  HAT_TRY_VOID(made->open());
  return made;
}

Result<void> Target::open() {
  const uint32_t receives = options_.peers_max * kReceivesPerPeer;
  const size_t buffers = size_t{receives} + options_.peers_max;
  HAT_TRY(SharedMemory memory, SharedMemory::create("hatrpc-target", options_.memory_bytes));
  HAT_TRY(SharedMemory messages,
          SharedMemory::create("hatrpc-calls", buffers * options_.message_bytes_max));
  memory_ = std::make_unique<SharedMemory>(std::move(memory));
  buffers_memory_ = std::make_unique<SharedMemory>(std::move(messages));
  const bool counts = fabric_.limits().atomics != Atomicity::kNone;
  HAT_TRY(region_,
          fabric_.register_memory(*memory_, {.write = true, .read = true, .atomic = counts}));
  HAT_TRY(buffers_, fabric_.register_memory(*buffers_memory_, {}));
  HAT_TRY(cq_,
          fabric_.create_completion_queue(options_.peers_max * (kReplyEntries + kReceivesPerPeer)));
  HAT_TRY(srq_, fabric_.create_receive_queue(receives));
  inline_bytes_ = fabric_.limits().inline_bytes_max;
  for (uint64_t id = 0; id < receives; ++id) post_receive(id);
  return {};
}

Result<CostCard> Target::add(const CostCard& initiator) {
  if (peers_.size() == options_.peers_max) {
    return fail(ErrorCode::kExhausted, "the target takes at most " +
                                           std::to_string(options_.peers_max) +
                                           " initiators, and another one connected");
  }
  if (initiator.message_bytes_max > options_.message_bytes_max) {
    return fail(ErrorCode::kExhausted, "an initiator sends calls of up to " +
                                           std::to_string(initiator.message_bytes_max) +
                                           " B, but the target takes at most " +
                                           std::to_string(options_.message_bytes_max));
  }
  const bool counts = fabric_.limits().atomics != Atomicity::kNone;
  HAT_TRY(auto pair,
          fabric_.create_queue_pair({.send_cq = *cq_,
                                     .recv_cq = *cq_,
                                     .srq = *srq_,
                                     .send_entries = kReplyEntries,
                                     .inline_bytes_max = inline_bytes_,
                                     .access = {.write = true, .read = true, .atomic = counts},
                                     .ack_timeout = kCostAckTimeout}));
  HAT_TRY_VOID(pair->connect(initiator.queue_pair));
  const CostCard card{.queue_pair = pair->address(),
                      .address = region_->address(),
                      .bytes = region_->bytes().size(),
                      .rkey = region_->rkey(),
                      .message_bytes_max = options_.message_bytes_max};
  const uint32_t number = pair->number();
  peers_.emplace(number, Peer{std::move(pair), free_reply()});
  return card;
}

// Returns the offset in buffers_ of a reply buffer that no peer uses. The reply buffers follow the
// receive buffers.
size_t Target::free_reply() const {
  const auto is_used = [this](size_t offset) {
    return std::ranges::any_of(
        peers_, [offset](const auto& peer) { return peer.second.reply_offset == offset; });
  };
  size_t offset = size_t{options_.peers_max} * kReceivesPerPeer * options_.message_bytes_max;
  while (is_used(offset)) offset += options_.message_bytes_max;
  return offset;
}

void Target::post_receive(uint64_t id) {
  const Segment segment{buffers_->bytes().data() + receive_offset(id), options_.message_bytes_max,
                        buffers_->lkey()};
  const ReceiveRequest request{.id = id, .segments = {&segment, 1}};
  srq_->post({&request, 1});
}

size_t Target::poll(const CallHandler& handler) {
  std::array<Completion, 16> done;
  const size_t count = cq_->poll(done);
  size_t answered = 0;
  for (const Completion& completion : std::span(done).first(count)) {
    if (completion.status != Status::kSuccess) {
      // A failure of the queue pair completes each of its outstanding requests with an error. lost_
      // counts the peer only once, because the first of these completions removes the peer.
      lost_ += peers_.erase(completion.queue_pair);
    } else if (completion.opcode == Opcode::kReceive) {
      answer(completion, handler);
      ++answered;
    }
  }
  if (count == 0 && ++empty_polls_ % kPollsPerTakeEvents == 0) take_events();
  return answered;
}

void Target::answer(const Completion& call, const CallHandler& handler) {
  if (const auto peer = peers_.find(call.queue_pair); peer != peers_.end()) {
    const auto bytes = buffers_->bytes();
    const auto reply = bytes.subspan(peer->second.reply_offset, options_.message_bytes_max);
    const size_t size = handler(bytes.subspan(receive_offset(call.id), call.bytes), reply);
    const Segment segment{reply.data(), static_cast<uint32_t>(size), buffers_->lkey()};
    const WorkRequest work{.opcode = Opcode::kSend,
                           .inlined = size <= inline_bytes_,
                           .solicited = true,
                           .segments = {&segment, 1}};
    // Sends the reply only if the peer is still there: the handler may have called take_events(),
    // which removes a peer that has gone.
    const auto still = peers_.find(call.queue_pair);
    if (still != peers_.end()) still->second.pair->post({&work, 1});
  }
  post_receive(call.id);
}

size_t Target::poll_or_sleep(const CallHandler& handler, std::chrono::milliseconds at_most) {
  if (const size_t answered = poll(handler); answered != 0) return answered;
  cq_->arm(false);
  if (const size_t answered = poll(handler); answered != 0) return answered;
  sleep_on({cq_->event_fd(), fabric_.event_fd()}, at_most);
  cq_->take_events();
  take_events();
  return poll(handler);
}

void Target::take_events() {
  while (const auto event = fabric_.next_event()) {
    // If no reply to a peer is in flight, only an event, and no completion, reports that the peer
    // has gone.
    if (event->kind == FabricEvent::Kind::kQueuePairError) lost_ += peers_.erase(event->queue_pair);
  }
}

}  // namespace hat::engine
