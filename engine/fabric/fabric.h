// SPDX-License-Identifier: Apache-2.0
// engine/fabric/fabric.h: RDMA in the words of verbs: registered memory, reliable connected (RC)
// queue pairs, completion queues. Protocols know this header and no device.
//
//   auto region = fabric.register_memory(memory, {.remote_write = true});
//   auto cq     = fabric.create_completion_queue(256);
//   auto srq    = fabric.create_receive_queue(64);
//   auto qp     = fabric.create_queue_pair({.send_cq = cq, .recv_cq = cq, .srq = srq, …});
//   … exchange qp->address(), region->rkey() and addresses by other means; then on both sides:
//   qp->connect(address of the other side's);
//   qp->post({{.id = 7, .opcode = Opcode::kWriteImm, .segments = …, .remote_address = …, .rkey =
//   …}}); n = cq->poll(completions);
//
// What holds on every fabric, as on an RC queue pair (InfiniBand specification 1.3, chapters 9,
// 10):
//
//   order     requests of one queue pair take effect in the order of posting, and complete in it
//   SEND, WRITE_WITH_IMM   consume a receive of the other side's receive queue; while there is none
//             the request waits (RNR) for rnr_retries times rnr_timer, then fails
//   rights    a one-sided request is refused where its rkey is not known, its range not inside the
//             region, or the region not open for it; nothing is touched then
//   errors    the first request that fails completes with the reason; the queue pair is in error
//             then, and so is the other side's; all later requests complete as kFlushed
//   visible   what a WRITE wrote may be read by the other side's CPU once a later SEND or
//             WRITE_WITH_IMM of the same queue pair has completed there, and by nothing else
//   atomics   act on 8 bytes at a multiple of 8, in the byte order of the side whose memory it is;
//             any other address is refused, or never answered (Soft-RoCE): do not rely on an error.
//             Each is one step for all other atomics on that memory, of whatever queue pair; for
//             the owner's CPU only where limits().atomics says so, and for WRITEs never: an atomic
//             that has read the word may undo them. They keep their place in the order of posting:
//             what was WRITTEN before one is there for whoever has seen its effect, by a request
//             of his own
//
// Unsignaled requests complete silently, with the next signaled one; a queue pair counts them
// against its send_entries until then.
//
// Thread   completion queues, receive queues and queue pairs that are used together belong to one
//          thread. register_memory() and next_event() belong to the thread that owns the fabric.
// Errors   cold calls return sentences; completions carry a Status.
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

// What others may do to a region; its owner's own requests may always read and write it.
struct RemoteAccess {
  bool write = false;
  bool read = false;
  bool atomic = false;
};

// Registered memory; it outlives the region. Destroying it takes the rights away: once the
// destructor has returned, no request of others touches the memory (on the loop fabric, none of a
// process that was not stopped in the middle for longer than 100 ms).
class MemoryRegion {
 public:
  virtual ~MemoryRegion() = default;
  virtual std::span<std::byte> bytes() const = 0;
  virtual uint32_t lkey() const = 0;
  virtual uint32_t rkey() const = 0;
  // What others name it by.
  uint64_t address() const { return reinterpret_cast<uint64_t>(bytes().data()); }
};

enum class Opcode : uint8_t {
  kSend,
  kSendImm,
  kWrite,
  kWriteImm,
  kRead,
  kCompareSwap,      // 8 bytes, aligned; what was there before is written to the one segment
  kFetchAdd,         // the same; wraps at 2^64
  kReceive,          // completions only: of a kSend or kSendImm
  kReceiveWriteImm,  // completions only: of a kWriteImm; `bytes` is what was written
};

struct Segment {
  std::byte* data = nullptr;
  uint32_t bytes = 0;
  uint32_t lkey = 0;  // not looked at where the request is inlined
};

inline constexpr size_t kSegmentsMax = 4;

struct WorkRequest {
  uint64_t id = 0;
  Opcode opcode = Opcode::kSend;
  bool signaled = true;
  bool inlined = false;    // copied by post(), at most inline_bytes_max; not for reads or atomics
  bool solicited = false;  // wakes who waits for solicited completions alone
  uint32_t imm = 0;
  std::span<const Segment> segments{};  // at most kSegmentsMax; lent until post() returns
  uint64_t remote_address = 0;
  uint32_t rkey = 0;
  uint64_t compare_or_add = 0;
  uint64_t swap = 0;
};

enum class Status : uint8_t {
  kSuccess,
  kLocalProtection,   // an lkey is not known, or a segment not inside its region
  kLocalLength,       // receive: what came is longer than its segments
  kLocalOperation,    // the request cannot be done by this queue pair
  kRemoteAccess,      // rkey, range or rights
  kRemoteInvalid,     // the other side's queue pair does not do such requests: its access, or
                      // a misaligned atomic
  kRemoteOperation,   // the other side's receive could not take it
  kRetryExceeded,     // the other side does not answer
  kRnrRetryExceeded,  // the other side has no receive
  kFlushed,           // the queue pair was in error already
  kOther,
};
std::string_view text(Status status);

struct Completion {
  uint64_t id = 0;  // of the work request, or of the receive
  Status status = Status::kSuccess;
  Opcode opcode = Opcode::kSend;  // meaningless where status is not kSuccess
  bool has_imm = false;
  uint32_t imm = 0;
  uint32_t bytes = 0;  // receives, reads and atomics
  uint32_t queue_pair = 0;
};

class CompletionQueue {
 public:
  virtual ~CompletionQueue() = default;
  // How many were written to `into`. No system call.
  virtual size_t poll(std::span<Completion> into) = 0;
  // The next completion (solicited ones alone, or any) makes event_fd() readable, once. One that
  // came before is not told: poll again after arming.
  virtual void arm(bool solicited_only) = 0;
  virtual int event_fd() const = 0;
  virtual void take_events() = 0;  // event_fd() is not readable any more
};

struct ReceiveRequest {
  uint64_t id = 0;
  std::span<const Segment> segments{};  // at most kSegmentsMax; lent until post() returns
};

// Receives for all the queue pairs that were created with it, taken in the order of posting.
class ReceiveQueue {
 public:
  virtual ~ReceiveQueue() = default;
  // How many were taken: all, unless the queue is full.
  virtual size_t post(std::span<const ReceiveRequest> requests) = 0;
};

// By what the other side reaches a queue pair: opaque, sent by other means.
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
  // A chain, posted at once. How many were taken: all, unless send_entries are out. What is taken
  // in error is flushed.
  virtual size_t post(std::span<const WorkRequest> chain) = 0;
  // Into error: what is out completes as kFlushed.
  virtual void fail() = 0;
  // In error: whether no request of the other side acts on this side's memory any more. A device
  // sees to that itself; another process, of the loop fabric, may be stopped in the middle. Until
  // this is true, keep the queue pair, and use what it could reach for nothing else.
  virtual bool settled() const { return true; }
};

struct QueuePairOptions {
  CompletionQueue& send_cq;  // all three outlive the queue pair
  CompletionQueue& recv_cq;
  ReceiveQueue& srq;
  uint32_t send_entries = 128;
  uint32_t inline_bytes_max = 0;
  RemoteAccess access;  // what the other side may do by this queue pair, where regions allow it too
  // The other side does not answer: retries, each after ack_timeout (the device may round it up).
  std::chrono::nanoseconds ack_timeout = std::chrono::milliseconds(4);
  uint8_t retries = 6;  // 0 … 6
  // The other side has no receive. 7: wait for ever.
  std::chrono::nanoseconds rnr_timer = std::chrono::microseconds(640);
  uint8_t rnr_retries = 7;
};

// What happens beside the completions.
struct FabricEvent {
  enum class Kind : uint8_t {
    kQueuePairError,  // also told by its requests' completions, where there are any
    kDeviceGone,      // nothing of this fabric works any more
    kPortDown,
    kPortUp,
    kAddressesChanged,
  };
  Kind kind{};
  uint32_t queue_pair = 0;  // kQueuePairError
  std::string detail;
};

// With what else an atomic request is one step.
enum class Atomicity : uint8_t {
  kNone,    // the fabric does none
  kDevice,  // other requests to the same memory through the same device
  kHost,    // the processors' own atomic instructions too
};

struct FabricLimits {
  uint32_t inline_bytes_max = 0;
  uint32_t send_entries_max = 0;
  uint32_t receive_entries_max = 0;
  uint32_t completion_entries_max = 0;
  uint32_t reads_max = 0;  // READs and atomics of one queue pair at once; 0: it has none
  Atomicity atomics = Atomicity::kNone;
  uint64_t regions_max = 0;  // memory keys
  bool pins = true;          // registered memory counts against RLIMIT_MEMLOCK
};

class Fabric {
 public:
  virtual ~Fabric() = default;  // after all that it made
  virtual std::string_view name() const = 0;
  // Fabrics whose reach is the same text can be connected with each other, as far as one can tell.
  virtual std::string reach() const = 0;
  virtual FabricLimits limits() const = 0;
  virtual Result<std::unique_ptr<MemoryRegion>> register_memory(const SharedMemory& memory,
                                                                RemoteAccess access) = 0;
  // Memory for this side's own WRITEs, READs and atomics, which nobody else can name; not for SENDs
  // or receives. It outlives the region. Its bytes may be mapped twice in a row.
  virtual Result<std::unique_ptr<MemoryRegion>> register_own(std::span<std::byte> memory) = 0;
  virtual Result<std::unique_ptr<CompletionQueue>> create_completion_queue(uint32_t entries) = 0;
  virtual Result<std::unique_ptr<ReceiveQueue>> create_receive_queue(uint32_t entries) = 0;
  virtual Result<std::unique_ptr<QueuePair>> create_queue_pair(const QueuePairOptions& options) = 0;
  // Readable where next_event() has something to do, whether or not it has something to tell.
  virtual int event_fd() const = 0;
  virtual std::optional<FabricEvent> next_event() = 0;
};

using OpenFabric = std::function<Result<std::unique_ptr<Fabric>>()>;

}  // namespace hat::engine
