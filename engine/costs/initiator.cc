// SPDX-License-Identifier: Apache-2.0
#include "engine/costs/initiator.h"

#include <array>
#include <atomic>
#include <thread>

namespace hat::engine {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint32_t kInitiatorEntries = 16;
constexpr uint32_t kInitiatorReceives = 2;
// The number of unsuccessful polls after which the thread yields its processor, because the other
// side may be waiting for the same processor.
constexpr uint32_t kPollsPerYield = 256;
constexpr uint32_t kPollsPerEventCheck = 4096;

}  // namespace

OperationCounts& OperationCounts::operator+=(const OperationCounts& more) {
  puts += more.puts;
  gets += more.gets;
  compare_swaps += more.compare_swaps;
  fetch_adds += more.fetch_adds;
  calls += more.calls;
  return *this;
}

OperationCounts& OperationCounts::operator-=(const OperationCounts& less) {
  puts -= less.puts;
  gets -= less.gets;
  compare_swaps -= less.compare_swaps;
  fetch_adds -= less.fetch_adds;
  calls -= less.calls;
  return *this;
}

Result<std::unique_ptr<Initiator>> Initiator::create(Fabric& fabric,
                                                     const InitiatorOptions& options) {
  std::unique_ptr<Initiator> made(new Initiator(fabric, options));
  HAT_TRY_VOID(made->open());
  return made;
}

Result<void> Initiator::open() {
  HAT_TRY(SharedMemory memory,
          SharedMemory::create("hatrpc-initiator", local_offset() + options_.local_bytes));
  memory_ = std::make_unique<SharedMemory>(std::move(memory));
  HAT_TRY(region_, fabric_.register_memory(*memory_, {}));
  HAT_TRY(cq_, fabric_.create_completion_queue(kInitiatorEntries + kInitiatorReceives));
  HAT_TRY(srq_, fabric_.create_receive_queue(kInitiatorReceives));
  inline_bytes_ = fabric_.limits().inline_bytes_max;
  HAT_TRY(pair_, fabric_.create_queue_pair({.send_cq = *cq_,
                                            .recv_cq = *cq_,
                                            .srq = *srq_,
                                            .send_entries = kInitiatorEntries,
                                            .inline_bytes_max = inline_bytes_,
                                            .ack_timeout = kCostAckTimeout}));
  for (uint64_t id = 0; id < kInitiatorReceives; ++id) post_receive(id);
  return {};
}

CostCard Initiator::card() const {
  return {.queue_pair = pair_->address(), .message_bytes_max = options_.message_bytes_max};
}

Result<void> Initiator::connect(const CostCard& target) {
  if (target.message_bytes_max < options_.message_bytes_max) {
    return fail(ErrorCode::kUnsupported,
                "the target takes calls of up to " + std::to_string(target.message_bytes_max) +
                    " B, but this side sends up to " + std::to_string(options_.message_bytes_max));
  }
  target_ = target;
  return pair_->connect(target.queue_pair);
}

std::span<std::byte> Initiator::local() const {
  return region_->bytes().subspan(local_offset(), options_.local_bytes);
}

std::span<std::byte> Initiator::request() const {
  return region_->bytes().subspan(request_offset(), options_.message_bytes_max);
}

Segment Initiator::at(size_t offset, size_t bytes) const {
  return {region_->bytes().data() + offset, static_cast<uint32_t>(bytes), region_->lkey()};
}

void Initiator::post_receive(uint64_t id) {
  const Segment segment = at(receive_offset(id), options_.message_bytes_max);
  const ReceiveRequest request{.id = id, .segments = {&segment, 1}};
  srq_->post({&request, 1});
}

Initiator::Outcome<void> Initiator::put(uint64_t offset, size_t bytes) {
  ++counts_.puts;
  return one_sided(Opcode::kWrite, offset, at(local_offset(), bytes));
}

Initiator::Outcome<void> Initiator::get(uint64_t offset, size_t bytes) {
  ++counts_.gets;
  HAT_TRY_VOID(one_sided(Opcode::kRead, offset, at(local_offset(), bytes)));
  // A caller may read a word that says that other data are ready, and then read these data with
  // another get(). The fence makes sure that the second get() does not see older data: the fabric
  // `loop` copies bytes without a fence.
  std::atomic_thread_fence(std::memory_order_acquire);
  return {};
}

Initiator::Outcome<uint64_t> Initiator::compare_swap(uint64_t offset, uint64_t expected,
                                                     uint64_t desired) {
  ++counts_.compare_swaps;
  HAT_TRY_VOID(one_sided(Opcode::kCompareSwap, offset, at(0, sizeof(uint64_t)), expected, desired));
  return word();
}

Initiator::Outcome<uint64_t> Initiator::fetch_add(uint64_t offset, uint64_t addend) {
  ++counts_.fetch_adds;
  HAT_TRY_VOID(one_sided(Opcode::kFetchAdd, offset, at(0, sizeof(uint64_t)), addend));
  return word();
}

Initiator::Outcome<uint64_t> Initiator::word() const {
  uint64_t value = 0;
  std::memcpy(&value, region_->bytes().data(), sizeof value);
  return value;
}

Initiator::Outcome<void> Initiator::one_sided(Opcode opcode, uint64_t offset,
                                              const Segment& segment, uint64_t compare_or_add,
                                              uint64_t swap) {
  const WorkRequest work{.opcode = opcode,
                         .inlined = opcode == Opcode::kWrite && segment.bytes <= inline_bytes_,
                         .segments = {&segment, 1},
                         .remote_address = target_.address + offset,
                         .rkey = target_.rkey,
                         .compare_or_add = compare_or_add,
                         .swap = swap};
  if (pair_->post({&work, 1}) != 1) return std::unexpected(Status::kLocalOperation);
  HAT_TRY_VOID(await());
  return {};
}

// Sends a request and waits for two completions in any order: the reply may arrive before the
// completion of the SEND.
Initiator::Outcome<std::span<const std::byte>> Initiator::call(size_t bytes) {
  ++counts_.calls;
  const Segment segment = at(request_offset(), bytes);
  const WorkRequest work{.opcode = Opcode::kSend,
                         .inlined = bytes <= inline_bytes_,
                         .solicited = true,
                         .segments = {&segment, 1}};
  if (pair_->post({&work, 1}) != 1) return std::unexpected(Status::kLocalOperation);
  HAT_TRY(const Completion first, await());
  HAT_TRY(const Completion second, await());
  const Completion& reply = first.opcode == Opcode::kReceive ? first : second;
  post_receive(reply.id);
  return std::span<const std::byte>(region_->bytes())
      .subspan(receive_offset(reply.id), reply.bytes);
}

Initiator::Outcome<Completion> Initiator::await() {
  Clock::time_point end = Clock::time_point::max();
  for (uint32_t polls = 1;; ++polls) {
    std::array<Completion, 1> done;
    if (cq_->poll(done) == 1) {
      if (done[0].status != Status::kSuccess) return std::unexpected(done[0].status);
      return done[0];
    }
    if (polls % kPollsPerYield == 0) std::this_thread::yield();
    if (polls % kPollsPerEventCheck != 0) continue;
    if (options_.stop.stop_requested() || is_lost()) return std::unexpected(Status::kRetryExceeded);
    if (end == Clock::time_point::max()) end = Clock::now() + options_.patience;
    if (Clock::now() > end) return std::unexpected(Status::kRetryExceeded);
  }
}

// Returns true if the target is gone. If the target goes away after it has received a call, the
// fabric reports this by an event, and not by a completion.
bool Initiator::is_lost() {
  while (const auto event = fabric_.next_event()) {
    lost_ |=
        event->kind == FabricEvent::Kind::kQueuePairError && event->queue_pair == pair_->number();
  }
  return lost_;
}

}  // namespace hat::engine
