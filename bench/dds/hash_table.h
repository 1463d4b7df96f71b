// SPDX-License-Identifier: Apache-2.0
// bench/dds/hash_table.h: a hash table with open addressing. Its buckets are in the memory of
// several owners. RemoteTable accesses them by one-sided RDMA operations; LocalTable accesses the
// buckets of one owner in the owner's own process.
//
//   bucket   flag 8 B   low byte: free, writing or ready; other bytes: the number of readers
//            key  8 B
//            value      padded to 8 bytes
//
// The operations by concurrency level (enum Level). W is an RDMA WRITE, R a READ, CAS a
// compare-and-swap, FAO a fetch-and-add:
//
// C_RW   insert: CAS(flag: free → writing); W(key, value); FAO(flag: writing → ready)
//        find:   FAO(flag: one reader more); R(key, value); FAO(flag: one reader less)
// C_W    insert: CAS(flag: free → ready); W(key, value)        a barrier before the first find
// C_R    find:   R(flag, key, value)                           a barrier after the last insert
//
// If a bucket holds another key, the operation repeats its steps for the next bucket. In C_RW, an
// insert of an existing key replaces its value under the same lock. In C_W, the keys of a phase
// must be distinct and new. Keys are never removed, so that the key of a ready bucket can be read
// without a lock.
//
// Differs  from the paper's table: verbs have no fetch-and-AND or fetch-and-OR, so fetch-and-add
//          changes the state and the number of readers.
// Thread   Each thread has its own RemoteTable, with its own initiators (connections to owners).
// Errors   If a client dies while it writes or reads a bucket, the bucket stays locked. Clients
//          that wait for this bucket then get kLost.
// Source   RDMA vs. RPC (Brock et al.), section III-B.1 and Table II; BCL's HashMap.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bench/dds/model.h"
#include "bench/dds/outcome.h"
#include "engine/costs/initiator.h"

namespace hat::bench {

struct TableShape {
  uint64_t offset = 0;      // of the first bucket in each owner's memory; a multiple of 64
  uint32_t buckets = 1024;  // per owner
  uint32_t value_bytes = 8;

  static constexpr size_t kKeyAt = 8;
  static constexpr size_t kValueAt = 16;
  size_t bucket_bytes() const { return kValueAt + (value_bytes + 7) / 8 * 8; }
  size_t bytes() const { return buckets * bucket_bytes(); }
};

class RemoteTable {
 public:
  RemoteTable(std::vector<engine::Initiator*> owners, const TableShape& shape)
      : owners_(std::move(owners)), shape_(shape) {}
  // Inserts a key. `level` must be kReadWrite or kWrite. Returns kDone, kFull or kLost.
  Outcome insert(uint64_t key, std::span<const std::byte> value, Level level);
  // Copies the value of a key to `value`. `level` must be kReadWrite or kRead. Returns kDone,
  // kMissing or kLost.
  Outcome find(uint64_t key, std::span<std::byte> value, Level level);

 private:
  // The owner of a bucket, and the bucket's offset in the owner's memory.
  struct BucketAddress {
    engine::Initiator& owner;
    uint64_t offset;
  };
  // A bucket's content: the operation's key, no key, another key, or unknown (the fabric failed).
  enum class Bucket : uint8_t { kMine, kFree, kOfAnother, kLost };

  uint64_t count() const { return owners_.size() * shape_.buckets; }
  BucketAddress address(uint64_t index) const;
  Bucket insert_shared(const BucketAddress& address, uint64_t key,
                       std::span<const std::byte> value);
  Bucket insert_alone(const BucketAddress& address, uint64_t key, std::span<const std::byte> value);
  Bucket find_shared(const BucketAddress& address, uint64_t key, std::span<std::byte> value);
  Bucket find_alone(const BucketAddress& address, uint64_t key, std::span<std::byte> value);
  bool put_entry(const BucketAddress& address, uint64_t key, std::span<const std::byte> value);
  // Compares `key` with the key of `entry` (a bucket's key and value, which a READ has copied to
  // this process). If the keys are equal, copies the entry's value to `value`.
  Bucket take_entry(const std::byte* entry, uint64_t key, std::span<std::byte> value) const;

  const std::vector<engine::Initiator*> owners_;
  const TableShape shape_;
};

// The buckets of one owner, accessed by the owner itself. No other process may access the buckets
// at the same time.
class LocalTable {
 public:
  LocalTable(std::span<std::byte> memory, const TableShape& shape)
      : memory_(memory), shape_(shape) {}
  uint32_t value_bytes() const { return shape_.value_bytes; }
  void clear();
  Outcome insert(uint64_t key, std::span<const std::byte> value);
  Outcome find(uint64_t key, std::span<std::byte> value) const;
  struct Entry {
    uint64_t key;
    std::span<const std::byte> value;
  };
  // Appends all entries to `into`, in the order of their buckets. Returns false if a bucket is
  // neither free nor ready.
  bool entries(std::vector<Entry>& into) const;

 private:
  std::byte* bucket(uint64_t index) const;

  const std::span<std::byte> memory_;
  const TableShape shape_;
};

}  // namespace hat::bench
