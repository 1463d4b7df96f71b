// SPDX-License-Identifier: Apache-2.0
// bench/dds/calls.h: a queue and a hash table that clients access by calls. A client sends each
// operation as a message to the process that owns the memory, and the owner performs the operation
// and answers.
//
//   request   operation 8 B: insert, find, push, pop; key 8 B; value
//   reply     outcome 8 B; value
//
// Source  RDMA vs. RPC (Brock et al.), Figure 2 and section III-C.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "bench/dds/hash_table.h"
#include "bench/dds/queue.h"
#include "engine/costs/initiator.h"

namespace hat::bench {

// The owner's side: the queue and the table are in the owner's memory, and only the owner's handler
// of calls accesses them.
class CallStore {
 public:
  CallStore(const QueueShape& queue, const TableShape& table)
      : queue_memory_(queue.offset + queue.bytes()),
        table_memory_(table.offset + table.bytes()),
        queue_(queue_memory_, queue),
        table_(table_memory_, table) {}
  engine::CallHandler handler();
  LocalQueue& queue() { return queue_; }
  LocalTable& table() { return table_; }

 private:
  size_t answer(std::span<const std::byte> request, std::span<std::byte> reply);

  std::vector<std::byte> queue_memory_;
  std::vector<std::byte> table_memory_;
  LocalQueue queue_;
  LocalTable table_;
};

class CallQueue {
 public:
  CallQueue(engine::Initiator& owner, uint32_t value_bytes)
      : owner_(owner), value_bytes_(value_bytes) {}
  Outcome push(std::span<const std::byte> value);
  Outcome pop(std::span<std::byte> value);

 private:
  engine::Initiator& owner_;
  const uint32_t value_bytes_;
};

// A client's handle of a hash table that is divided among several owners. The hash of a key decides
// which owner has the key.
class CallTable {
 public:
  CallTable(std::vector<engine::Initiator*> owners, uint32_t value_bytes)
      : owners_(std::move(owners)), value_bytes_(value_bytes) {}
  Outcome insert(uint64_t key, std::span<const std::byte> value);
  Outcome find(uint64_t key, std::span<std::byte> value);

 private:
  engine::Initiator& owner_of(uint64_t key) const;

  const std::vector<engine::Initiator*> owners_;
  const uint32_t value_bytes_;
};

}  // namespace hat::bench
