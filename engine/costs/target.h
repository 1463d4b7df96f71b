// SPDX-License-Identifier: Apache-2.0
// engine/costs/target.h: memory that peers access by one-sided requests, and calls (active
// messages) that they send. It is the side that is measured, and the owner of a distributed data
// structure.
//
//   Target                                        Initiator (initiator.h)
//   auto target = Target::create(fabric, …);      auto initiator = Initiator::create(fabric, …);
//   auto card = target->add(theirs);    ◀── cards, by other means ──▶    initiator->card()
//   for (;;) target->poll(handler);               initiator->connect(card);
//
// One-sided requests need no work of the target's processor: on `loop` the initiator performs them,
// on `verbs` the device does. A call is answered only when the target polls.
//
// Bounds   peers_max initiators, each with one call at a time of at most message_bytes_max.
// Owner    the fabric outlives the target; the target owns its memory.
// Thread   one, the fabric's.
// Errors   set-up functions return sentences. A peer that goes away is counted in lost().
// Source   RDMA vs. RPC (Brock et al.), section II-B: a handler sends nothing but its one reply.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "engine/fabric/fabric.h"

namespace hat::engine {

// The same value as for lanes, and for the same reason: a busy host answers late.
inline constexpr std::chrono::nanoseconds kCostAckTimeout = std::chrono::milliseconds(67);

// What one side must know about the other. Plain bytes; an initiator's card describes no memory.
struct CostCard {
  QueuePairAddress queue_pair{};
  uint64_t address = 0;  // of the memory, in its owner's address space
  uint64_t bytes = 0;
  uint32_t rkey = 0;
  uint32_t message_bytes_max = 0;
};

// Reads a request, writes a reply, and returns the reply's length. A handler must not make calls.
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

  // Connects to an initiator, which may then read, write and use atomics in memory(). Returns the
  // card for the initiator.
  Result<CostCard> add(const CostCard& initiator);
  std::span<std::byte> memory() const { return region_->bytes(); }
  // Answers the calls that have arrived; returns how many. Makes no system call, except in each
  // thousandth poll that finds nothing, which checks whether peers have gone.
  size_t poll(const CallHandler& handler);
  // As poll(), but sleeps until a call arrives if there is none.
  size_t poll_or_sleep(const CallHandler& handler, std::chrono::milliseconds at_most);
  void take_events();  // reads the fabric's events: peers come and go, memory is registered
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
  std::unique_ptr<SharedMemory> buffers_memory_;  // the receives, then one reply for each peer
  std::unique_ptr<MemoryRegion> region_;
  std::unique_ptr<MemoryRegion> buffers_;
  std::unique_ptr<CompletionQueue> cq_;
  std::unique_ptr<ReceiveQueue> srq_;
  std::unordered_map<uint32_t, Peer> peers_;  // by queue pair number
};

}  // namespace hat::engine
