// SPDX-License-Identifier: Apache-2.0
// engine/costs/target.h: memory that others reach by one-sided requests, and calls (active
// messages) that they send: the side that is measured, and the owner of a distributed structure.
//
//   Target                                        Initiator (initiator.h)
//   auto target = Target::create(fabric, …);      auto initiator = Initiator::create(fabric, …);
//   auto card = target->add(theirs);    ◀── cards, by other means ──▶    initiator->card()
//   for (;;) target->poll(handler);               initiator->connect(card);
//
// One-sided requests need nothing of the target's processor: on `loop` the initiator does them, on
// `verbs` the device. A call is answered when the target polls, and not before.
//
// Bounds   peers_max initiators, each with one call at a time of at most message_bytes_max.
// Owner    the fabric outlives the target; the target owns its memory.
// Thread   one, the fabric's.
// Errors   cold calls return sentences. A peer that goes is counted in lost().
// Source   RDMA vs. RPC (Brock et al.), section II-B: a handler sends nothing but its one reply.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "engine/fabric/fabric.h"

namespace hat::engine {

// As lanes have it, and for their reason: a host that is busy answers late.
inline constexpr std::chrono::nanoseconds kCostAckTimeout = std::chrono::milliseconds(67);

// What one side must know of the other. Plain bytes; an initiator's has no memory.
struct CostCard {
  QueuePairAddress queue_pair{};
  uint64_t address = 0;  // of the memory, in its owner
  uint64_t bytes = 0;
  uint32_t rkey = 0;
  uint32_t message_bytes_max = 0;
};

// Reads a request, writes a reply, and returns how long it is. It may not call anybody.
using CallHandler =
    std::function<size_t(std::span<const std::byte> request, std::span<std::byte> reply)>;

struct TargetOptions {
  size_t memory_bytes = 1 << 20;
  uint32_t peers_max = 1;
  uint32_t message_bytes_max = 64 * 1024;
};

class Target {
 public:
  static Result<std::unique_ptr<Target>> create(Fabric& fabric, const TargetOptions& options);

  // Whoever has this card may read, write and count in memory(). Returns the card for it.
  Result<CostCard> add(const CostCard& initiator);
  std::span<std::byte> memory() const { return region_->bytes(); }
  // Answers the calls that have come; how many. No system call, but one in a thousand times in
  // vain: that hears of peers that have gone.
  size_t poll(const CallHandler& handler);
  // The same, and sleeps until one comes where there is none.
  size_t poll_or_sleep(const CallHandler& handler, std::chrono::milliseconds at_most);
  void take_events();  // what the fabric tells: peers come and go, memory is registered
  uint64_t lost() const { return lost_; }

 private:
  struct Peer {
    std::unique_ptr<QueuePair> pair;
    size_t reply_offset;  // in buffers_
  };

  Target(Fabric& fabric, const TargetOptions& options) : fabric_(fabric), options_(options) {}
  Result<void> open();
  size_t receive_offset(uint64_t id) const { return id * options_.message_bytes_max; }
  void post_receive(uint64_t id);
  void answer(const Completion& call, const CallHandler& handler);

  Fabric& fabric_;
  const TargetOptions options_;
  uint32_t inline_bytes_ = 0;
  uint32_t empty_polls_ = 0;
  uint64_t lost_ = 0;
  std::unique_ptr<SharedMemory> memory_;
  std::unique_ptr<SharedMemory> buffers_memory_;  // receives, then a reply for each peer
  std::unique_ptr<MemoryRegion> region_;
  std::unique_ptr<MemoryRegion> buffers_;
  std::unique_ptr<CompletionQueue> cq_;
  std::unique_ptr<ReceiveQueue> srq_;
  std::unordered_map<uint32_t, Peer> peers_;  // by queue pair
};

}  // namespace hat::engine
