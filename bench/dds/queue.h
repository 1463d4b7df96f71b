// SPDX-License-Identifier: Apache-2.0
// bench/dds/queue.h: a ring buffer that lives in one owner's memory and that others push to and pop
// from by one-sided operations; or the owner itself.
//
//   header   tail         the next ticket to push      each in a line of cache of its own
//            tail_ready   all tickets below are written
//            head         the next ticket to pop
//            head_ready   all tickets below are read
//   slots    ticket % capacity: value, padded to 8 bytes; with `checksums` 8 bytes more
//
// C_RW   push: ticket = FAO(tail); W(slot); CAS-P(tail_ready: ticket → ticket + 1)
//        pop:  ticket = FAO(head); R(slot); CAS-P(head_ready: ticket → ticket + 1)
//        A fetch-and-add of tail_ready would be wrong: it might pass pushes that are not written.
// C_W    push without the CAS-P, and C_R pop without it: settle() by the owner ends the phase.
// checksums  push without the CAS-P beside pops: a slot counts as written once its checksum, seeded
//        with the ticket, agrees. Pops are as in C_RW.
//
// A ticket cannot be given back once others hold later ones. So a push that finds the queue full,
// or a pop that finds it empty, keeps its ticket for the handle's next one, and whoever comes after
// it waits: come back, or end the phase. (The paper's queue waits inside the push, and adds -1 to
// take a pop back, which two that do so at once get wrong.) What others have published is
// remembered: it is asked for with a get only where it would not do.
//
// Differs  from the paper's: tickets are 64 bits; any number may pop a queue with checksums.
// Thread   a handle per thread, with an initiator of its own.
// Errors   Outcome. Who dies between ticket and CAS-P leaves the others waiting until kLost.
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
  uint64_t offset = 0;  // in the owner's memory, a multiple of 64
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

// By one-sided operations.
class RemoteQueue {
 public:
  RemoteQueue(engine::Initiator& owner, const QueueShape& shape) : owner_(owner), shape_(shape) {}
  // kReadWrite or kWrite. kDone, kFull, kLost.
  Outcome push(std::span<const std::byte> value, Level level);
  // kReadWrite or kRead. kDone, kEmpty, kLost.
  Outcome pop(std::span<std::byte> value, Level level);
  // After the owner's settle().
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

// The owner's own, while nobody else is at it (C_l).
class LocalQueue {
 public:
  LocalQueue(std::span<std::byte> memory, const QueueShape& shape)
      : memory_(memory), shape_(shape) {}
  uint32_t value_bytes() const { return shape_.value_bytes; }
  void clear();
  Outcome push(std::span<const std::byte> value);
  Outcome pop(std::span<std::byte> value);
  // Ends a phase of this level: what was pushed can be popped, what was popped can be pushed over,
  // and tickets that somebody still holds are void.
  void settle(Level ended);
  uint64_t size() const;
  // The i-th of size() values, the oldest first.
  std::span<const std::byte> at(uint64_t i) const;

 private:
  uint64_t& word(uint64_t offset) const;

  const std::span<std::byte> memory_;
  const QueueShape shape_;
};

}  // namespace hat::bench
