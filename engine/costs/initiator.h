// SPDX-License-Identifier: Apache-2.0
// engine/costs/initiator.h: one-sided operations on a target's memory and calls to the target, one
// at a time, each awaited by polling: the component operations of RDMA vs. RPC, Table I.
//
//   put            W      WRITE, until its completion
//   get            R      READ
//   compare_swap   A_CAS  8 bytes at a multiple of 8
//   fetch_add      A_FAO  as compare_swap
//   call           AM     SEND, until the target's reply has arrived
//
// An offset in the target's memory names the remote bytes. put() reads from local() and get()
// writes to local(), so nothing is copied except by the fabric.
//
// Owner    the fabric outlives the initiator.
// Thread   one, the fabric's.
// Errors   a Status. After the first error the queue pair is in error, and all operations fail.
//          kRetryExceeded also if the other side has not answered for `patience`.
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
  uint32_t local_bytes = 1 << 20;  // the longest put or get
  uint32_t message_bytes_max = 64 * 1024;
  std::chrono::nanoseconds patience = std::chrono::seconds(20);
  std::stop_token stop{};  // after a stop request, an operation that is awaited fails soon
};

// The number of operations of each kind that were begun.
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
  // Fails if the target accepts only shorter calls than this side sends, or if the fabric reports
  // an error.
  Result<void> connect(const CostCard& target);

  std::span<std::byte> local() const;
  // Writes the first `bytes` of local() to the target's memory at `offset`.
  Outcome<void> put(uint64_t offset, size_t bytes);
  // Reads `bytes` of the target's memory at `offset` into the beginning of local().
  Outcome<void> get(uint64_t offset, size_t bytes);
  // Returns the old value; the word was swapped if the old value equals `expected`.
  Outcome<uint64_t> compare_swap(uint64_t offset, uint64_t expected, uint64_t desired);
  // Returns the old value.
  Outcome<uint64_t> fetch_add(uint64_t offset, uint64_t addend);
  // Sends the first `bytes` of request(). The reply that it returns is valid until the next call.
  Outcome<std::span<const std::byte>> call(size_t bytes);
  std::span<std::byte> request() const;

  const OperationCounts& counts() const { return counts_; }
  Fabric& fabric() const { return fabric_; }
  uint64_t target_bytes() const { return target_.bytes; }

 private:
  Initiator(Fabric& fabric, const InitiatorOptions& options) : fabric_(fabric), options_(options) {}
  Result<void> open();
  // The layout of memory_: a word for atomics, two receives, the request, local().
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
