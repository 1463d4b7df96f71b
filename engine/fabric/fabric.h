// SPDX-License-Identifier: Apache-2.0
// engine/fabric/fabric.h: RDMA in the terms of the verbs API: registered memory, reliable connected
// (RC) queue pairs, completion queues. Protocols use this header and never a device directly.
//
//   auto region = fabric.register_memory(memory, {.remote_write = true});
//   auto cq     = fabric.create_completion_queue(256);
//   auto srq    = fabric.create_receive_queue(64);
//   auto qp     = fabric.create_queue_pair({.send_cq = cq, .recv_cq = cq, .srq = srq, …});
//   … exchange qp->address(), region->rkey() and addresses by other means; then on both sides:
//   qp->connect(the peer's address());
//   qp->post({{.id = 7, .opcode = Opcode::kWriteImm, .segments = …, .remote_address = …,
//              .rkey = …}});
//   n = cq->poll(completions);
//
// The peer of a queue pair is the queue pair to which it is connected, and the process that owns
// that queue pair. Every fabric makes these guarantees of an RC queue pair (InfiniBand
// specification 1.3, chapters 9 and 10), except for what loop_fabric.h lists:
//
//   order     The requests of one queue pair take effect, and complete, in the order of posting.
//   SEND, WRITE_WITH_IMM   consume a receive of the peer's receive queue. While that queue is
//             empty, the request waits (RNR: receiver not ready) for rnr_retries times rnr_timer,
//             and then fails.
//   rights    A one-sided request is refused, and touches nothing, if its rkey is unknown, its
//             range is not inside the region, or the region does not permit the operation.
//   errors    The first request that fails completes with the reason. The queue pair and its peer
//             then enter the error state, and all later requests complete as kFlushed.
//   visible   The peer's CPU may read bytes that a WRITE wrote once a later SEND or WRITE_WITH_IMM
//             of the same queue pair has completed there. Nothing else makes them visible.
//   atomics   An atomic acts on 8 bytes at an address that is a multiple of 8, in the byte order of
//             the memory's owner. Any other address is refused, or never answered (Soft-RoCE), so
//             do not rely on an error. An atomic is one indivisible step for all other atomics on
//             that memory, from any queue pair. For the owner's CPU it is one only if
//             limits().atomics says so, and for WRITEs never: an atomic that has already read the
//             word may undo a WRITE. Atomics keep their place in the order of posting: a side
//             whose request has seen the effect of an atomic also finds the bytes that were
//             WRITTEN before that atomic.
//
// A successful unsignaled request has no completion of its own: the next signaled completion shows
// that it is done. Until then the request counts against send_entries of its queue pair.
//
// Thread   completion queues, receive queues and queue pairs that are used together belong to one
//          thread. register_memory() and next_event() belong to the thread that owns the fabric.
// Errors   set-up functions return a Result whose error is a sentence; completions carry a Status.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/shared_memory.h"

namespace hat::engine {

// Operations that peers may perform on a region. The owner's requests may always read and write it.
struct RemoteAccess {
  bool write = false;
  bool read = false;
  bool atomic = false;
};

// Registered memory. The memory must outlive the region. The destructor revokes the rights of all
// peers: once it has returned, no request of a peer touches the memory. The loop fabric has one
// exception: if a peer's process is stopped in the middle of a request for longer than 100 ms, that
// request may still touch the memory.
class MemoryRegion {
 public:
  virtual ~MemoryRegion() = default;
  virtual std::span<std::byte> bytes() const = 0;
  virtual uint32_t lkey() const = 0;
  virtual uint32_t rkey() const = 0;
  // Returns the address by which requests of peers name this memory (WorkRequest::remote_address).
  uint64_t address() const { return reinterpret_cast<uint64_t>(bytes().data()); }
};

enum class Opcode : uint8_t {
  kSend,
  kSendImm,
  kWrite,
  kWriteImm,
  kRead,
  kCompareSwap,      // on 8 aligned bytes; their old value is written to the only segment
  kFetchAdd,         // as kCompareSwap; wraps at 2^64
  kReceive,          // only in completions: of the receive that a kSend or kSendImm consumed
  kReceiveWriteImm,  // only in completions: of a kWriteImm; `bytes` is the number written
};

struct Segment {
  std::byte* data = nullptr;
  uint32_t bytes = 0;
  uint32_t lkey = 0;  // ignored if the request is inlined
};

inline constexpr size_t kSegmentsMax = 4;

struct WorkRequest {
  uint64_t id = 0;
  Opcode opcode = Opcode::kSend;
  bool signaled = true;
  bool inlined = false;    // post() copies the bytes (inline_bytes_max); not for reads or atomics
  bool solicited = false;  // also wakes a thread that waits for solicited completions only
  uint32_t imm = 0;
  std::span<const Segment> segments{};  // at most kSegmentsMax; valid until post() returns
  uint64_t remote_address = 0;
  uint32_t rkey = 0;
  uint64_t compare_or_add = 0;
  uint64_t swap = 0;
};

enum class Status : uint8_t {
  kSuccess,
  kLocalProtection,   // an lkey is unknown, or a segment is not inside its region
  kLocalLength,       // receive: the message is longer than the segments; atomic (loop fabric):
                      // not exactly one segment, or one of less than 8 bytes
  kLocalOperation,    // this queue pair cannot perform the request
  kRemoteAccess,      // the rkey, the range or the region's rights do not permit the request
  kRemoteInvalid,     // the peer's QueuePairOptions::access does not permit such requests, or an
                      // atomic is misaligned
  kRemoteOperation,   // the peer's receive could not take the message
  kRetryExceeded,     // the peer does not answer
  kRnrRetryExceeded,  // the peer has no receive posted
  kFlushed,           // the queue pair was already in error
  kOther,
};
std::string_view text(Status status);

struct Completion {
  uint64_t id = 0;  // of the work request, or of the receive
  Status status = Status::kSuccess;
  Opcode opcode = Opcode::kSend;  // meaningless unless status is kSuccess
  bool has_imm = false;
  uint32_t imm = 0;
  uint32_t bytes = 0;  // set for receives, reads and atomics
  uint32_t queue_pair = 0;
};

class CompletionQueue {
 public:
  virtual ~CompletionQueue() = default;
  // Writes completions to `into` and returns their number. Makes no system call, unless the loop
  // fabric has to wake a sleeping peer, map a region or handle an error.
  virtual size_t poll(std::span<Completion> into) = 0;
  // Lets the next completion (the next solicited one if `solicited_only`) make event_fd() readable,
  // once. A completion that arrived before arm() does not, so poll again after arming.
  virtual void arm(bool solicited_only) = 0;
  virtual int event_fd() const = 0;
  virtual void take_events() = 0;  // makes event_fd() unreadable again
};

struct ReceiveRequest {
  uint64_t id = 0;
  std::span<const Segment> segments{};  // at most kSegmentsMax; valid until post() returns
};

// Receives that all queue pairs created with this queue share, consumed in the order of posting.
class ReceiveQueue {
 public:
  virtual ~ReceiveQueue() = default;
  // Posts receives and returns how many it took: all of them, unless the queue is full.
  virtual size_t post(std::span<const ReceiveRequest> requests) = 0;
};

// The address by which a peer reaches a queue pair. It is opaque, and the two sides exchange their
// addresses by other means.
inline constexpr size_t kQueuePairAddressBytes = 64;
using QueuePairAddress = std::array<std::byte, kQueuePairAddressBytes>;

enum class QueuePairState : uint8_t { kUnconnected, kConnected, kError };

class QueuePair {
 public:
  virtual ~QueuePair() = default;
  virtual uint32_t number() const = 0;
  virtual QueuePairAddress address() const = 0;
  virtual Result<void> connect(const QueuePairAddress& other) = 0;
  virtual QueuePairState state() const = 0;
  // Posts a chain of requests at once and returns how many it took. It takes all of them, unless
  // send_entries requests are outstanding, a request exceeds a limit, or the queue pair is not
  // connected yet. Requests that it takes in the error state are flushed.
  virtual size_t post(std::span<const WorkRequest> chain) = 0;
  // Puts the queue pair into error: outstanding requests complete as kFlushed.
  virtual void fail() = 0;
  // Returns true once no request of the peer acts on this side's memory any more. Call it in the
  // error state. A device guarantees that by itself, but on the loop fabric the peer's process may
  // be stopped in the middle of a request. Until settled() returns true, keep the queue pair, and
  // do not reuse the memory that its peer could reach.
  virtual bool settled() const { return true; }
};

struct QueuePairOptions {
  CompletionQueue& send_cq;  // all three must outlive the queue pair
  CompletionQueue& recv_cq;
  ReceiveQueue& srq;
  uint32_t send_entries = 128;
  uint32_t inline_bytes_max = 0;
  RemoteAccess access;  // what the peer may do through this queue pair, if the region allows it too
  // If the peer does not answer: how often to retry, each time after ack_timeout (a device may
  // round the time up).
  std::chrono::nanoseconds ack_timeout = std::chrono::milliseconds(4);
  uint8_t retries = 6;  // 0 … 6
  // If the peer has no receive posted: how often to retry, each time after rnr_timer. 7 means to
  // wait forever.
  std::chrono::nanoseconds rnr_timer = std::chrono::microseconds(640);
  uint8_t rnr_retries = 7;
};

// An event that is not a completion.
struct FabricEvent {
  enum class Kind : uint8_t {
    kQueuePairError,  // outstanding requests, if any, also complete with an error
    kDeviceGone,      // nothing of this fabric works any more
    kPortDown,
    kPortUp,
    kAddressesChanged,
  };
  Kind kind{};
  uint32_t queue_pair = 0;  // of a kQueuePairError
  std::string detail;
};

// The accesses to the same memory for which an atomic request is one indivisible step.
enum class Atomicity : uint8_t {
  kNone,    // none: the fabric does not support atomics
  kDevice,  // other atomic requests through the same device
  kHost,    // those, and atomic instructions of the processors
};

struct FabricLimits {
  uint32_t inline_bytes_max = 0;
  uint32_t send_entries_max = 0;
  uint32_t receive_entries_max = 0;
  uint32_t completion_entries_max = 0;
  uint32_t reads_max = 0;  // outstanding READs and atomics per queue pair; 0: not supported
  Atomicity atomics = Atomicity::kNone;
  uint64_t regions_max = 0;  // how many memory keys exist
  bool pins = true;          // registered memory counts against RLIMIT_MEMLOCK
};

class Fabric {
 public:
  virtual ~Fabric() = default;  // the objects that it created must be gone before
  virtual std::string_view name() const = 0;
  // Returns a text that names what the fabric can reach. Two fabrics with equal texts can be
  // connected with each other, as far as the fabrics know.
  virtual std::string reach() const = 0;
  virtual FabricLimits limits() const = 0;
  virtual Result<std::unique_ptr<MemoryRegion>> register_memory(const SharedMemory& memory,
                                                                RemoteAccess access) = 0;
  // Registers memory for this side's own WRITEs, READs and atomics, not for SENDs or receives. No
  // peer can name this memory. It must outlive the region. `memory` may map the same pages twice in
  // a row, as a ring does.
  virtual Result<std::unique_ptr<MemoryRegion>> register_own(std::span<std::byte> memory) = 0;
  virtual Result<std::unique_ptr<CompletionQueue>> create_completion_queue(uint32_t entries) = 0;
  virtual Result<std::unique_ptr<ReceiveQueue>> create_receive_queue(uint32_t entries) = 0;
  virtual Result<std::unique_ptr<QueuePair>> create_queue_pair(const QueuePairOptions& options) = 0;
  // Returns a descriptor that is readable when next_event() has work to do, even if that work
  // yields no event.
  virtual int event_fd() const = 0;
  virtual std::optional<FabricEvent> next_event() = 0;
};

using OpenFabric = std::function<Result<std::unique_ptr<Fabric>>()>;

}  // namespace hat::engine
