// SPDX-License-Identifier: Apache-2.0
// bench/dds/queue.h: a ring buffer in one owner's memory. Other processes push and pop by one-sided
// operations, or the owner itself does so locally.
//
//   header   tail         the next ticket to push      each in its own cache line
//            tail_ready   all tickets below are written
//            head         the next ticket to pop
//            head_ready   all tickets below are read
//   slots    ticket % capacity: value, padded to 8 bytes; with `checksums` 8 bytes more
//
// C_RW   push: ticket = FAO(tail); W(slot); CAS-P(tail_ready: ticket → ticket + 1)
//        pop:  ticket = FAO(head); R(slot); CAS-P(head_ready: ticket → ticket + 1)
//        A fetch-and-add of tail_ready would be wrong: it could count an unwritten push.
// C_W    push without the CAS-P; C_R: pop without it. The owner's settle() ends such a phase.
// checksums   push without the CAS-P, concurrent with pops: a slot counts as written once its
//        checksum, which is seeded with the ticket, matches. Pops are as in C_RW.
//
// A client cannot give a ticket back once others hold later ones. If a push finds the queue full,
// or a pop finds it empty, the handle therefore keeps the ticket for its next push or pop. Clients
// with later tickets wait for it, so the caller must try again or end the phase. (The paper's queue
// waits inside the push, and adds -1 to undo a pop, which goes wrong if two clients do so at once.)
// A handle remembers the tail_ready and head_ready that it has seen, and reads them again only if
// the remembered value does not suffice.
//
// Differs  from the paper's queue: tickets have 64 bits; any number of clients may pop from a queue
//          with checksums.
// Thread   each thread has its own handle, with its own initiator.
// Errors   Outcome. If a client dies between taking a ticket and its CAS-P, other clients wait
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
  // `level` is kReadWrite or kWrite. Returns kDone, kFull or kLost.
  Outcome push(std::span<const std::byte> value, Level level);
  // `level` is kReadWrite or kRead. Returns kDone, kEmpty or kLost.
  Outcome pop(std::span<std::byte> value, Level level);
  // Forgets tickets and positions. Call it after the owner's settle().
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

// The owner's own access, while no other process accesses the queue (C_l).
class LocalQueue {
 public:
  LocalQueue(std::span<std::byte> memory, const QueueShape& shape)
      : memory_(memory), shape_(shape) {}
  uint32_t value_bytes() const { return shape_.value_bytes; }
  void clear();
  Outcome push(std::span<const std::byte> value);
  Outcome pop(std::span<std::byte> value);
  // Ends a phase of the level `ended`: pushed values can be popped, popped slots can be reused, and
  // tickets that clients still hold are void.
  void settle(Level ended);
  uint64_t size() const;
  // Returns the i-th of size() values; the oldest is the first.
  std::span<const std::byte> at(uint64_t i) const;

 private:
  uint64_t& word(uint64_t offset) const;

  const std::span<std::byte> memory_;
  const QueueShape shape_;
};

}  // namespace hat::bench
