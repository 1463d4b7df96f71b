// SPDX-License-Identifier: Apache-2.0
// bench/dds/queue.h: a queue (ring buffer) in the memory of one process, its owner. RemoteQueue
// pushes and pops by one-sided RDMA operations; LocalQueue does so in the owner's own process.
//
//   header   tail         the next ticket to push      (each word is in its own cache line)
//            tail_ready   all lower tickets are written
//            head         the next ticket to pop
//            head_ready   all lower tickets are read
//   slots    ticket % capacity: value, padded to 8 bytes; with `checksums`, 8 bytes more
//
// The operations by concurrency level (enum Level). FAO is a fetch-and-add, W an RDMA WRITE, R a
// READ, CAS-P a compare-and-swap that is repeated until it succeeds:
//
// C_RW   push: ticket = FAO(tail); W(slot); CAS-P(tail_ready: ticket → ticket + 1)
//        pop:  ticket = FAO(head); R(slot); CAS-P(head_ready: ticket → ticket + 1)
//        A fetch-and-add of tail_ready would be wrong, because an earlier push can be unwritten.
// C_W    push without the CAS-P. The owner's settle() ends the phase.
// C_R    pop without the CAS-P. The owner's settle() ends the phase.
// checksums   push without the CAS-P, but concurrent with pops, which are as in C_RW. A slot counts
//        as written if its checksum, which is seeded with the ticket, matches.
//
// A client cannot return a ticket, because other clients can hold later tickets. If a push finds
// the queue full, or a pop finds it empty, the RemoteQueue keeps the ticket for its next push or
// pop. Clients with later tickets wait for this ticket, so the caller must try again or end the
// phase. (The paper's queue waits inside the push. To undo a pop, it adds -1, which is wrong if two
// clients do so at once.)
// A RemoteQueue remembers the last tail_ready and head_ready that it has read, and reads them again
// only if the remembered values do not suffice.
//
// Differs  from the paper's queue: tickets have 64 bits; any number of clients can pop from a queue
//          with checksums.
// Thread   Each thread has its own RemoteQueue, with its own initiator (connection to the owner).
// Errors   If a client dies after it has taken a ticket and before its CAS-P, other clients wait
//          until they get kLost.
// Source   RDMA vs. RPC (Brock et al.), section III-B.2 and Table III; BCL's CircularQueue and
//          ChecksumQueue.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "bench/dds/model.h"
#include "bench/dds/outcome.h"
#include "engine/costs/initiator.h"

namespace hat::bench {

struct QueueShape {
  uint64_t offset = 0;  // in the owner's memory; a multiple of 64
  uint32_t capacity = 1024;
  uint32_t value_bytes = 8;
  bool checksums = false;

  static constexpr size_t kHeaderBytes = 256;
  size_t padded_value_bytes() const { return (value_bytes + 7) / 8 * 8; }
  size_t slot_bytes() const { return padded_value_bytes() + (checksums ? 8 : 0); }
  size_t bytes() const { return kHeaderBytes + capacity * slot_bytes(); }
  uint64_t slot_offset(uint64_t ticket) const {
    return offset + kHeaderBytes + ticket % capacity * slot_bytes();
  }
};

// Accesses the queue by one-sided operations.
class RemoteQueue {
 public:
  RemoteQueue(engine::Initiator& owner, const QueueShape& shape) : owner_(owner), shape_(shape) {}
  // Appends a value. `level` must be kReadWrite or kWrite. Returns kDone, kFull or kLost.
  Outcome push(std::span<const std::byte> value, Level level);
  // Removes the oldest value. `level` must be kReadWrite or kRead. Returns kDone, kEmpty or kLost.
  Outcome pop(std::span<std::byte> value, Level level);
  // Begins a new phase: forgets the ticket of a push that found the queue full or a pop that found
  // it empty, and the values of tail_ready and head_ready that it has read. Call this after the
  // owner has called LocalQueue::settle().
  void begin_phase();

 private:
  using Word = engine::Initiator::Outcome<uint64_t>;
  Word get_word(uint64_t offset);
  Outcome advance(uint64_t offset, uint64_t ticket);  // CAS-P
  Outcome take_slot(uint64_t ticket, std::span<std::byte> value);

  engine::Initiator& owner_;
  const QueueShape shape_;
  std::optional<uint64_t> push_ticket_;
  std::optional<uint64_t> pop_ticket_;
  uint64_t seen_tail_ready_ = 0;
  uint64_t seen_head_ready_ = 0;
};

// The owner's access to its own queue. No other process may access the queue at the same time.
class LocalQueue {
 public:
  LocalQueue(std::span<std::byte> memory, const QueueShape& shape)
      : memory_(memory), shape_(shape) {}
  uint32_t value_bytes() const { return shape_.value_bytes; }
  void clear();
  Outcome push(std::span<const std::byte> value);
  Outcome pop(std::span<std::byte> value);
  // Ends a phase of the level `ended`. After that, pushed values can be popped, popped slots can be
  // used again, and the tickets that clients still hold are void.
  void settle(Level ended);
  uint64_t size() const;
  // Returns the value number `i` of the queue, from 0 (the oldest) to size() - 1.
  std::span<const std::byte> at(uint64_t i) const;

 private:
  uint64_t& word(uint64_t offset) const;

  const std::span<std::byte> memory_;
  const QueueShape shape_;
};

}  // namespace hat::bench
