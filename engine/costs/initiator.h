// SPDX-License-Identifier: Apache-2.0
// engine/costs/initiator.h: performs one-sided RDMA operations on the memory of a target (another
// process, target.h), and makes calls to the target. An initiator performs one operation at a time
// and polls until the operation is complete. The second column has the operation's name in Table I
// of the paper "RDMA vs. RPC" (Brock et al.):
//
//   put            W      WRITE, until its completion
//   get            R      READ
//   compare_swap   A_CAS  8 bytes at a multiple of 8
//   fetch_add      A_FAO  as compare_swap
//   call           AM     SEND, until the target's reply has arrived
//
// The argument `offset` of an operation is an offset in the target's memory. put() sends bytes of
// local(), and get() stores bytes in local(), so that only the fabric copies bytes.
//
// Owner    The fabric must outlive the initiator.
// Thread   Only the thread of the fabric uses an initiator.
// Errors   Operations return a Status. After the first error the queue pair is in its error state,
//          and all later operations fail. kRetryExceeded is also returned if the target has not
//          answered for `patience`.
#pragma once

#include <chrono>
#include <cstring>
#include <expected>
#include <memory>
#include <stop_token>

#include "engine/costs/target.h"
#include "engine/fabric/fabric.h"

namespace hat::engine {

struct InitiatorOptions {
  uint32_t local_bytes = 1 << 20;  // the maximum size of one put or get
  uint32_t message_bytes_max = 64 * 1024;
  std::chrono::nanoseconds patience = std::chrono::seconds(20);
  std::stop_token stop{};  // after a stop request, the operation in progress fails soon
};

// Counts the operations of each kind that an initiator has begun.
struct OperationCounts {
  uint64_t puts = 0;
  uint64_t gets = 0;
  uint64_t compare_swaps = 0;
  uint64_t fetch_adds = 0;
  uint64_t calls = 0;

  OperationCounts& operator+=(const OperationCounts& more);
  OperationCounts& operator-=(const OperationCounts& less);
};

class Initiator {
 public:
  template <class T>
  using Outcome = std::expected<T, Status>;

  static Result<std::unique_ptr<Initiator>> create(Fabric& fabric, const InitiatorOptions& options);
  CostCard card() const;
  // Connects to the target that `target` describes. Fails if this side's message_bytes_max is
  // larger than the target's, or if the fabric reports an error.
  Result<void> connect(const CostCard& target);

  std::span<std::byte> local() const;
  // Writes the first `bytes` of local() to the target's memory at `offset`.
  Outcome<void> put(uint64_t offset, size_t bytes);
  // Reads `bytes` of the target's memory at `offset` into the beginning of local().
  Outcome<void> get(uint64_t offset, size_t bytes);
  // Replaces, atomically, the 8-byte word at `offset` of the target's memory with `desired` if its
  // value is `expected`. Returns the word's value before the operation.
  Outcome<uint64_t> compare_swap(uint64_t offset, uint64_t expected, uint64_t desired);
  // Adds, atomically, `addend` to the 8-byte word at `offset` of the target's memory. Returns the
  // word's value before the operation.
  Outcome<uint64_t> fetch_add(uint64_t offset, uint64_t addend);
  // Sends the first `bytes` of request() to the target and waits for the reply. The returned reply
  // is valid until the next call.
  Outcome<std::span<const std::byte>> call(size_t bytes);
  std::span<std::byte> request() const;

  const OperationCounts& counts() const { return counts_; }
  Fabric& fabric() const { return fabric_; }
  uint64_t target_bytes() const { return target_.bytes; }

 private:
  Initiator(Fabric& fabric, const InitiatorOptions& options) : fabric_(fabric), options_(options) {}
  Result<void> open();
  // The layout of memory_: a word for the results of atomic operations, two receive buffers, the
  // request, and local().
  static constexpr size_t kWordBytes = 64;
  size_t receive_offset(uint64_t id) const { return kWordBytes + id * options_.message_bytes_max; }
  size_t request_offset() const { return receive_offset(2); }
  size_t local_offset() const { return receive_offset(3); }
  Segment at(size_t offset, size_t bytes) const;
  void post_receive(uint64_t id);
  Outcome<void> one_sided(Opcode opcode, uint64_t offset, const Segment& segment,
                          uint64_t compare_or_add = 0, uint64_t swap = 0);
  Outcome<uint64_t> word() const;
  Outcome<Completion> await();  // waits for the next completion
  bool is_lost();

  Fabric& fabric_;
  const InitiatorOptions options_;
  CostCard target_;
  OperationCounts counts_;
  uint32_t inline_bytes_ = 0;
  bool lost_ = false;
  std::unique_ptr<SharedMemory> memory_;
  std::unique_ptr<MemoryRegion> region_;
  std::unique_ptr<CompletionQueue> cq_;
  std::unique_ptr<ReceiveQueue> srq_;
  std::unique_ptr<QueuePair> pair_;
};

}  // namespace hat::engine
