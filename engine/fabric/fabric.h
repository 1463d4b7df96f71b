// SPDX-License-Identifier: Apache-2.0
// engine/fabric/fabric.h: RDMA in the terms of the verbs API: registered memory, reliable connected
// (RC) queue pairs, completion queues. Protocols use this header and never a device directly.
//
//   auto region = fabric.register_memory(memory, {.write = true});
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
//   visible   The peer's CPU sees the bytes of a WRITE once a later SEND or WRITE_WITH_IMM of the
//             same queue pair has completed at the peer. Before that, the CPU must not read them.
//   atomics   An atomic acts on 8 bytes at an address that is a multiple of 8, in the byte order of
//             the memory's owner. Any other address is refused or, on Soft-RoCE, never answered.
//             Atomics on one word never interleave, even from different queue pairs. An atomic and
//             the owner's CPU can interleave unless limits().atomics is kHost. An atomic and a
//             WRITE can always interleave: the atomic may overwrite the WRITE with an older value.
//             A request that sees the effect of an atomic also sees all WRITEs that were posted
//             before this atomic.
//
// A fabric is a protection domain: its queue pairs know the keys of its own regions only.
// open_domain() opens another domain on the same device, so that peers with queue pairs of
// different domains cannot reach each other's memory.
//
// An unsignaled request that succeeds has no completion. The completion of a later signaled request
// shows that the unsignaled request is done. Until then, the unsignaled request counts against
// send_entries of its queue pair.
//
// Thread   Completion queues, receive queues and queue pairs that are used together belong to one
//          thread. register_memory() and next_event() belong to the thread that owns the fabric.
// Errors   Set-up functions return a Result whose error is a sentence; completions carry a Status.
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

// The operations that peers may perform on a memory region. The owner's own requests may always
// read and write the region.
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
  kCompareSwap,  // acts on 8 aligned bytes, and writes their old value to the only segment
  kFetchAdd,     // like kCompareSwap; the sum wraps at 2^64
  kReceive,      // only in completions: a receive that the peer's kSend or kSendImm consumed
  // Only in completions: a receive that the peer's kWriteImm consumed; Completion::bytes is the
  // number of bytes that the kWriteImm wrote.
  kReceiveWriteImm,
};
constexpr bool is_receive(Opcode opcode) {
  return opcode == Opcode::kReceive || opcode == Opcode::kReceiveWriteImm;
}

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
  // If true, post() copies the bytes to send (at most inline_bytes_max), so the caller may reuse
  // their memory as soon as post() returns. Must be false for READs and atomics.
  bool inlined = false;
  // If true, the completion at the peer is solicited: it also wakes a thread that has called
  // CompletionQueue::arm() for solicited completions only.
  bool solicited = false;
  uint32_t imm = 0;
  std::span<const Segment> segments{};  // at most kSegmentsMax; valid until post() returns
  uint64_t remote_address = 0;
  uint32_t rkey = 0;
  uint64_t compare_or_add = 0;
  uint64_t swap = 0;
};

enum class Status : uint8_t {
  kSuccess,
  kLocalProtection,  // an lkey is unknown, or a segment is not inside its region
  // Receive: the message is longer than the receive's segments. Atomic (only on the loop fabric):
  // the request does not have exactly one segment, or the segment has less than 8 bytes.
  kLocalLength,
  kLocalOperation,  // this queue pair cannot perform the request
  kRemoteAccess,    // the rkey, the range or the region's rights do not permit the request
  // The peer's QueuePairOptions::access does not permit such requests, or an atomic is misaligned.
  kRemoteInvalid,
  kRemoteOperation,   // the peer's receive could not take the message
  kRetryExceeded,     // the peer does not answer
  kRnrRetryExceeded,  // the peer has no receive posted
  kFlushed,           // the queue pair was already in error
  kOther,
};
std::string_view text(Status status);

struct Completion {
  uint64_t id = 0;  // the id of the work request or of the receive
  Status status = Status::kSuccess;
  // If `status` is not kSuccess, says only whether a receive (is_receive()) or a request failed.
  Opcode opcode = Opcode::kSend;
  bool has_imm = false;
  uint32_t imm = 0;
  uint32_t bytes = 0;  // set for receives, reads and atomics
  // QueuePair::number(). 0 if the queue pair of a receive was destroyed before poll() returned the
  // completion: the memory of the receive belongs to the caller again.
  uint32_t queue_pair = 0;
};

class CompletionQueue {
 public:
  virtual ~CompletionQueue() = default;
  // Writes completions to `into` and returns their number. Makes no system call, unless the loop
  // fabric has to wake a sleeping peer, map a region or handle an error.
  virtual size_t poll(std::span<Completion> into) = 0;
  // Arms the queue: the next completion makes event_fd() readable, once. If `solicited_only` is
  // true, only the next solicited completion does. A completion that arrived before arm() does not
  // make event_fd() readable, so the caller must call poll() after arm().
  virtual void arm(bool solicited_only) = 0;
  virtual int event_fd() const = 0;
  virtual void take_events() = 0;  // makes event_fd() unreadable again
  // Makes space for `entries` completions. Completions that have not been polled yet stay.
  virtual Result<void> resize(uint32_t entries) = 0;
};

struct ReceiveRequest {
  uint64_t id = 0;
  std::span<const Segment> segments{};  // at most kSegmentsMax; valid until post() returns
};

// A shared receive queue. All queue pairs that were created with this queue consume its receives,
// in the order in which the receives were posted.
class ReceiveQueue {
 public:
  virtual ~ReceiveQueue() = default;
  // Posts receives, and returns how many receives the queue took: all of them, unless it is full.
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
  // Posts the requests of `chain` in order, and returns how many requests the queue pair took: all
  // of them, unless send_entries requests are outstanding, a request exceeds a limit, or the queue
  // pair is not connected yet. Requests that are posted in the error state complete as kFlushed.
  virtual size_t post(std::span<const WorkRequest> chain) = 0;
  // Puts the queue pair into error: outstanding requests complete as kFlushed.
  virtual void fail() = 0;
  // Returns true if requests of the peer can no longer act on this side's memory. Call it only in
  // the error state. The result is always true for a device. On the loop fabric, the peer's process
  // can be stopped in the middle of a request: until settled() returns true, the caller must keep
  // the queue pair, and must not reuse the memory that the peer could access.
  virtual bool settled() const { return true; }
};

struct QueuePairOptions {
  CompletionQueue& send_cq;  // `send_cq`, `recv_cq` and `srq` must outlive the queue pair
  CompletionQueue& recv_cq;
  ReceiveQueue& srq;
  uint32_t send_entries = 128;
  uint32_t inline_bytes_max = 0;
  RemoteAccess access;  // what the peer may do through this queue pair, if the region allows it too
  // If the peer does not answer: the number of retries, each after the time ack_timeout, which a
  // device may round up.
  std::chrono::nanoseconds ack_timeout = std::chrono::milliseconds(4);
  uint8_t retries = 6;  // 0 … 6
  // If the peer has no receive posted: the number of retries, each after the time rnr_timer.
  // rnr_retries = 7 means to retry forever.
  std::chrono::nanoseconds rnr_timer = std::chrono::microseconds(640);
  uint8_t rnr_retries = 7;

  // Returns these options with other queues: those of the fabric below one that forwards to it.
  QueuePairOptions with(CompletionQueue& send, CompletionQueue& recv,
                        ReceiveQueue& receives) const {
    return {.send_cq = send,
            .recv_cq = recv,
            .srq = receives,
            .send_entries = send_entries,
            .inline_bytes_max = inline_bytes_max,
            .access = access,
            .ack_timeout = ack_timeout,
            .retries = retries,
            .rnr_timer = rnr_timer,
            .rnr_retries = rnr_retries};
  }
};

// An event that is not a completion.
struct FabricEvent {
  enum class Kind : uint8_t {
    kQueuePairError,     // outstanding requests, if any, also complete with an error
    kReceiveQueueError,  // the receive queue and its queue pairs take no more messages
    kDeviceGone,         // nothing of this fabric works any more
    kPortDown,
    kPortUp,
    kAddressesChanged,
  };
  Kind kind{};
  uint32_t queue_pair = 0;  // if `kind` is kQueuePairError: the number of the queue pair
  // If `kind` is kReceiveQueueError: the receive queue; valid until objects are destroyed.
  const ReceiveQueue* receive_queue = nullptr;
  std::string detail;
};

// The other accesses to a word that cannot interleave with an atomic request on this word.
enum class Atomicity : uint8_t {
  kNone,    // the fabric does not support atomics
  kDevice,  // other atomic requests through the same device
  kHost,    // other atomic requests, and atomic instructions of the host's processors
};

struct FabricLimits {
  uint32_t inline_bytes_max = 0;
  uint32_t send_entries_max = 0;
  uint32_t receive_entries_max = 0;
  uint32_t completion_entries_max = 0;
  uint32_t reads_max = 0;  // most outstanding READs and atomics of a queue pair; 0: not supported
  Atomicity atomics = Atomicity::kNone;
  uint64_t regions_max = 0;  // the most memory regions, each of which needs a memory key
  bool pins = true;          // registered memory counts against RLIMIT_MEMLOCK
  // The fabric passes the descriptors of registered memory to peers, so the caller must keep them
  // open (SharedMemory::close_descriptor()) as long as the regions exist.
  bool passes_descriptors = false;
  // The queue pairs of all domains of a device (open_domain()) can use each other's completion
  // queues, and the fabric that opened the device reports the events of all domains. If false, each
  // domain needs completion queues of its own, and reports its own events.
  bool shares_completions = false;
};

class Fabric {
 public:
  virtual ~Fabric() = default;  // destroy all objects that the fabric created before the fabric
  virtual std::string_view name() const = 0;
  // Returns a text that names what the fabric can reach. Two fabrics with equal texts can be
  // connected with each other, as far as the fabrics know.
  virtual std::string reach() const = 0;
  virtual FabricLimits limits() const = 0;
  // Opens another protection domain on the same device. The two fabrics can be destroyed in any
  // order.
  virtual Result<std::unique_ptr<Fabric>> open_domain() = 0;
  virtual Result<std::unique_ptr<MemoryRegion>> register_memory(const SharedMemory& memory,
                                                                RemoteAccess access) = 0;
  // Registers memory that only this side's own WRITEs, READs and atomics can use; SENDs, receives
  // and requests of a peer cannot use it. The memory must outlive the region. `memory` may map the
  // same pages twice, one mapping after the other, as a ring does.
  virtual Result<std::unique_ptr<MemoryRegion>> register_own(std::span<std::byte> memory) = 0;
  virtual Result<std::unique_ptr<CompletionQueue>> create_completion_queue(uint32_t entries) = 0;
  virtual Result<std::unique_ptr<ReceiveQueue>> create_receive_queue(uint32_t entries) = 0;
  virtual Result<std::unique_ptr<QueuePair>> create_queue_pair(const QueuePairOptions& options) = 0;
  // Returns a descriptor that is readable when next_event() has work to do. If the work yields no
  // event, next_event() returns nullopt. Returns -1 if the fabric that opened the device reports
  // the events of this domain.
  virtual int event_fd() const = 0;
  virtual std::optional<FabricEvent> next_event() = 0;
};

using OpenFabric = std::function<Result<std::unique_ptr<Fabric>>()>;

}  // namespace hat::engine
