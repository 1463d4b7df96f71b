// SPDX-License-Identifier: Apache-2.0
// client/rdma/application_stream.h: a connection between a thread of the application and a worker
// in the same process (inner_node.h). It takes the place of the socket between an application and
// hatrpcd, and behaves like one: bytes in both directions, in order, with a limit on those that
// wait.
//
//   application: write(), flush() ──requests──▶ worker: ByteStream::read()
//                read(), peek()   ◀──replies─── worker: ByteStream::write()
//
// While the application waits, it runs the worker's event loop (shared_loop.h).
//
// Bounds   kBytesMax bytes wait in each direction.
// Thread   The functions of the application: any thread, one that reads and one that writes at a
//          time. worker_side(): in the loop.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <span>

#include "base/byte_queue.h"
#include "base/reactor.h"
#include "client/rdma/shared_loop.h"

namespace hatrpc::rdma {

class ApplicationStream final : public LoopClient,
                                public std::enable_shared_from_this<ApplicationStream> {
 public:
  static constexpr size_t kBytesMax = 1 << 20;

  enum class Outcome : uint8_t {
    kOk,
    kEnd,  // reading: the worker sends no more; writing: it takes no more
    kTimedOut,
    kInterrupted,  // interrupt() was called
  };

  explicit ApplicationStream(std::shared_ptr<SharedLoop> loop) : loop_(std::move(loop)) {}

  // Returns the worker's side, which calls `events`. Call it once.
  std::unique_ptr<hat::ByteStream> worker_side(hat::StreamEvents& events);

  // --- For the application ---
  // Waits until bytes have arrived; `bytes` is then how many of them are in `into`.
  Outcome read(std::span<std::byte> into, hat::TimePoint deadline, size_t& bytes);
  // Waits until read() need not wait.
  Outcome await_readable(hat::TimePoint deadline);
  // Returns true if read() would return bytes now.
  bool has_bytes() const;
  // Waits until all bytes are in the queue. The worker sends them after flush() or read().
  Outcome write(std::span<const std::byte> from, hat::TimePoint deadline);
  void flush() { loop_->flush(); }
  // Ends the stream: the worker reads the end after the bytes written so far.
  void close();
  // Makes read() return kInterrupted, now and later.
  void interrupt();

 private:
  class WorkerSide;
  enum class Life : uint8_t { kOpen, kEnded };  // of one side: it sends no more bytes

  bool on_news() override;
  void note();
  bool must_notify_worker() const;
  hat::IoResult worker_reads(std::span<std::byte> into);
  hat::IoResult worker_writes(std::span<const iovec> from);
  void end_replies();

  const std::shared_ptr<SharedLoop> loop_;
  WorkerSide* worker_ = nullptr;  // used only in the loop; null before and after its life
  Waiter reader_;
  Waiter writer_;

  mutable std::mutex mutex_;  // protects the members below
  hat::ByteQueue requests_;
  hat::ByteQueue replies_;
  Life application_ = Life::kOpen;
  Life worker_life_ = Life::kOpen;
  bool takes_requests_ = true;  // false: the worker's side was destroyed
  bool is_interrupted_ = false;
  bool is_noted_ = false;  // the loop will call on_news()
  bool worker_awaits_space_ = false;
};

}  // namespace hatrpc::rdma
