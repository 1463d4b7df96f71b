// SPDX-License-Identifier: Apache-2.0
// engine/costs/target.h: a target offers memory that peers access by one-sided RDMA requests, and
// answers calls (active messages) of these peers. When RDMA costs are measured, the target is the
// side that does not measure. A distributed data structure uses a target in each process that owns
// a part of the structure.
//
//   Target                                        Initiator (initiator.h)
//   auto target = Target::create(fabric, …);      auto initiator = Initiator::create(fabric, …);
//   auto card = target->add(theirs);    ◀── cards, by other means ──▶    initiator->card()
//   for (;;) target->poll(handler);               initiator->connect(card);
//
// One-sided requests need no work of the target's processor. On the fabric `loop` the initiator
// performs these requests; on `verbs` the RDMA device performs them. A call is answered only when
// the target polls.
//
// Bounds   At most peers_max initiators. Each initiator has at most one call at a time, and a call
//          has at most message_bytes_max bytes.
// Owner    The fabric must outlive the target. The target owns its memory.
// Thread   Only the thread of the fabric uses a target.
// Errors   create() and add() return an error as a sentence. lost() counts peers that went away.
// Source   RDMA vs. RPC (Brock et al.), section II-B: a handler sends nothing but its one reply.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "engine/fabric/fabric.h"

namespace hat::engine {

// The time that a queue pair waits for an acknowledgement. The time is long, as it is for RDMA
// lanes, because a busy host acknowledges late.
inline constexpr std::chrono::nanoseconds kCostAckTimeout = std::chrono::milliseconds(67);

// What one side must know about the other side before they can connect: the address of a queue pair
// and the memory to access. In an initiator's card the memory is empty. The struct has no pointers
// and can be sent as it is.
struct CostCard {
  QueuePairAddress queue_pair{};
  uint64_t address = 0;            // of the memory, in the address space of the memory's owner
  uint64_t bytes = 0;              // the size of the memory
  uint32_t rkey = 0;               // the key by which the other side accesses the memory
  uint32_t message_bytes_max = 0;  // the maximum size of a call or a reply
};

// A function that answers a call: reads `request`, writes the reply to `reply`, and returns the
// length of the reply in bytes. The function must not make calls itself.
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

  // Connects to the initiator that the card describes. From then on the initiator can read and
  // write memory(), and use atomic operations on it. Returns the target's card for this initiator.
  Result<CostCard> add(const CostCard& initiator);
  std::span<std::byte> memory() const { return region_->bytes(); }
  // Answers the calls that have arrived, with `handler`, and returns the number of these calls.
  // Makes no system call, except that each thousandth poll without a call checks whether peers have
  // gone.
  size_t poll(const CallHandler& handler);
  // Polls as poll() does. If no call has arrived, sleeps until a call arrives, for at most
  // `at_most`.
  size_t poll_or_sleep(const CallHandler& handler, std::chrono::milliseconds at_most);
  // Handles the fabric's events, which report peers that come or go, and registrations of memory.
  void take_events();
  uint64_t lost() const { return lost_; }
  Fabric& fabric() const { return fabric_; }

 private:
  struct Peer {
    std::unique_ptr<QueuePair> pair;
    size_t reply_offset;  // the offset of the peer's reply buffer in buffers_
  };

  Target(Fabric& fabric, const TargetOptions& options) : fabric_(fabric), options_(options) {}
  Result<void> open();
  size_t receive_offset(uint64_t id) const { return id * options_.message_bytes_max; }
  size_t free_reply() const;
  void post_receive(uint64_t id);
  void answer(const Completion& call, const CallHandler& handler);

  Fabric& fabric_;
  const TargetOptions options_;
  uint32_t inline_bytes_ = 0;
  uint32_t empty_polls_ = 0;
  uint64_t lost_ = 0;
  std::unique_ptr<SharedMemory> memory_;
  // The receive buffers, followed by one buffer for the reply to each peer.
  std::unique_ptr<SharedMemory> buffers_memory_;
  std::unique_ptr<MemoryRegion> region_;
  std::unique_ptr<MemoryRegion> buffers_;
  std::unique_ptr<CompletionQueue> cq_;
  std::unique_ptr<ReceiveQueue> srq_;
  std::unordered_map<uint32_t, Peer> peers_;  // by queue pair number
};

}  // namespace hat::engine
