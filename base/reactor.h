// SPDX-License-Identifier: Apache-2.0
// base/reactor.h: a worker's interface to its event loop: non-blocking sockets, timers, a clock.
//
// A reactor and all objects that it creates belong to one thread. There are two reactors: the
// daemon's reactor uses libevent and the kernel's sockets (daemon/reactor/libevent_reactor.h); the
// simulation's reactor has a network and a clock generated from a random seed
// (tests/sim/sim_reactor.h). Therefore code that uses a reactor must not ask the kernel about a
// socket or about the time.
//
// In an iteration of the event loop, the reactor waits, reads the clock once, calls every object
// that has an event, and then calls every IterationEvents once, for work that is cheaper in
// batches. The reactor also calls every IterationEvents before the first wait, because work that
// was queued during set-up must not wait for an event.
#pragma once

#include <sys/uio.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/address.h"
#include "base/check.h"
#include "base/descriptor.h"
#include "base/result.h"

namespace hat {

using Duration = std::chrono::nanoseconds;
using TimePoint = std::chrono::time_point<std::chrono::steady_clock, Duration>;

// The result of one read or write. `bytes` is set only for kOk, and is then at least 1.
struct IoResult {
  enum class Kind : uint8_t {
    kOk,
    kWouldBlock,  // no bytes were transferred; an event follows when bytes can be transferred
    kEnd,         // read: the other side will send no more (half-close)
    kError,       // the stream is dead; `error` says why
  };
  Kind kind = Kind::kWouldBlock;
  size_t bytes = 0;
  int error = 0;  // an errno value, for kError
};

// The callbacks of a ByteStream. A callback can destroy the stream that calls it.
class StreamEvents {
 public:
  virtual ~StreamEvents() = default;
  // Handles that the stream is readable: read() would return bytes, the end of the stream or an
  // error. After want_read(true), the reactor calls this in every iteration in which the stream is
  // readable (level-triggered).
  virtual void on_readable() = 0;
  // Handles that the stream has space again, has connected, or has failed; after a failure write()
  // returns the error. The reactor calls this only after want_write(true).
  virtual void on_writable() = 0;
  // Reports that at least half of the memory of a stream over shared memory is free again, because
  // the other side has read bytes, or that the other side is gone. The reactor calls this once
  // after shortage() has requested it.
  virtual void on_half_free() {}
};

// A connected (or connecting) byte stream. The destructor closes the connection as close(2) does:
// with FIN if everything was read and written.
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  ByteStream(const ByteStream&) = delete;
  ByteStream& operator=(const ByteStream&) = delete;

  virtual IoResult read(std::span<std::byte> into) = 0;
  // Writes the buffers in order; can accept fewer bytes than offered. Returns kWouldBlock while the
  // stream is still connecting.
  virtual IoResult write(std::span<const iovec> from) = 0;
  // Returns false if some of the bytes that write() accepted still wait in this process for space.
  virtual bool all_sent() const { return true; }
  // Ends the stream in the direction of writing (half-close): the other side reads the end after
  // the bytes written so far. read() still works.
  virtual void shutdown_write() = 0;
  // Turns callbacks on or off: want_read() turns on_readable() on or off, and want_write() turns
  // on_writable() on or off. In a new stream both are off.
  virtual void want_read(bool wanted) = 0;
  virtual void want_write(bool wanted) = 0;
  // Requests one more on_readable() in a later iteration, whether or not bytes have arrived. A
  // reader uses this if it has read bytes that it will handle later, so that other streams get
  // their turn first. want_read(false) cancels the request.
  virtual void read_again() = 0;
  // Sends the acknowledgement of received bytes now; does nothing on streams without delayed
  // acknowledgements. Call this when only a part of a message was read: a sender with Nagle's
  // algorithm holds the rest of the message back until the part is acknowledged, and the kernel
  // would delay the acknowledgement by 40 ms (Linux).
  virtual void acknowledge_now() {}
  // Makes the destructor send RST instead of FIN. Call this if the other side must not mistake the
  // close for an orderly end of the stream.
  virtual void abort_on_close() = 0;

  // Returns a description of an error that read() or write() returned.
  virtual std::string error_text(int error) const { return std::strerror(error); }
  // Returns the identities that the other side has proved: the names in its certificate
  // (config/identity.h). Returns no names if the other side has not proved an identity (yet).
  virtual std::span<const std::string> peer_names() const { return {}; }

  // --- For streams over shared memory; on other streams these functions have no effect ---
  // Returns the received bytes in shared memory, without a copy. The other side can change the
  // bytes while the caller reads them.
  virtual std::span<const std::byte> peek() { return {}; }
  // Consumes the first `bytes` bytes of peek(): peek() no longer returns them, and the other side
  // can overwrite them.
  virtual void take([[maybe_unused]] size_t bytes) {}
  // Removes the first `bytes` bytes from peek(), but keeps the other side from overwriting them
  // until the caller passes the returned number to give_back(). If the stream is destroyed earlier,
  // the bytes remain readable as long as the caller holds the pointer from memory().
  virtual uint64_t borrow([[maybe_unused]] size_t bytes) { return 0; }
  virtual void give_back([[maybe_unused]] uint64_t borrowed) {}
  // Returns the memory that contains every byte that peek() can return. The memory stays mapped
  // while the caller holds the pointer, even after the stream is destroyed.
  virtual std::shared_ptr<const std::span<std::byte>> memory() { return nullptr; }
  // Reserves space for `bytes` bytes, after all bytes that were written or reserved before, and
  // returns it; returns nothing if there is too little space. The caller fills the space, and then
  // passes exactly the reserved bytes to write(), which does not copy them. Until then write()
  // accepts no other bytes, and of several reserved spaces only the first. If the bytes are not
  // written, the caller must call unreserve().
  virtual std::span<std::byte> reserve([[maybe_unused]] size_t bytes) { return {}; }
  // Ends the reservation of the space that begins at `at`. Returns false if write() has ended it.
  virtual bool unreserve([[maybe_unused]] const std::byte* at) { return false; }
  // Returns how many bytes of `bytes` may not fit into the free space, because the other side has
  // not read what write() accepted before. Returns 0 if the memory is smaller than `bytes`. If the
  // result is not 0 and less than a quarter of the memory is free, requests one on_half_free(); any
  // other result cancels an earlier request.
  virtual size_t shortage([[maybe_unused]] size_t bytes) { return 0; }
  // Returns the memory that contains every byte that reserve() can return, as memory() does for
  // peek().
  virtual std::shared_ptr<const std::span<std::byte>> space_memory() { return nullptr; }

  // --- For connections that another process can continue (daemon/proxy/successor.h) ---
  // Returns the descriptors that another process needs to resume this connection. The stream still
  // owns the descriptors. Returns no descriptors if the connection cannot be resumed now.
  virtual std::vector<int> descriptors() const { return {}; }

 protected:
  ByteStream() = default;
};

// The callback of a Listener for each new connection.
class ListenerEvents {
 public:
  virtual ~ListenerEvents() = default;
  // A function that creates the stream of the new connection. The stream belongs to the caller and
  // calls back the given StreamEvents. If on_connection() does not call `accept`, the listener
  // closes the connection.
  using Accept = std::function<std::unique_ptr<ByteStream>(StreamEvents&)>;
  virtual void on_connection(const Accept& accept) = 0;
};

// Accepts connections on a listening socket. The destructor stops accepting; it does not remove the
// path of a unix socket.
class Listener {
 public:
  virtual ~Listener() = default;
  virtual void want_accept(bool wanted) = 0;
};

// A timer that fires once and can be set again. The destructor cancels the timer.
class Timer {
 public:
  virtual ~Timer() = default;
  virtual void set(TimePoint when) = 0;  // replaces an earlier setting
  virtual void cancel() = 0;
};

// A watch on a descriptor that another object owns. The destructor ends the watch.
class Watch {
 public:
  virtual ~Watch() = default;
};

class IterationEvents {
 public:
  virtual ~IterationEvents() = default;
  virtual void on_iteration_end() = 0;
  // Called before the reactor sleeps, after on_iteration_end(). Returns false if the reactor must
  // start another iteration instead of sleeping.
  virtual bool may_sleep() { return true; }
};

class Reactor {
 public:
  virtual ~Reactor() = default;

  // Returns the clock value that the reactor read for the events that are being handled. Events
  // that were ready together get the same value.
  virtual TimePoint now() const = 0;
  // Returns the processor time that this thread has used. Unlike now(), this may ask the kernel at
  // each call.
  virtual Duration cpu_time() const = 0;
  // Starts to connect to `to`, and returns the stream. If connecting fails, even immediately, the
  // first read() or write() returns the error.
  virtual std::unique_ptr<ByteStream> connect(const Address& to, StreamEvents& events) = 0;
  // Does the same as connect(), but returns nullptr and the errno value in `error` if connecting
  // fails immediately. Connecting to a path fails immediately if no process listens there. The
  // reactors of tests, whose connections do not fail immediately, use this implementation.
  virtual std::unique_ptr<ByteStream> try_connect(const Address& to, StreamEvents& events,
                                                  int& error) {
    error = 0;
    return connect(to, events);
  }
  // Resumes the connection of an earlier stream, possibly of another process. `descriptors` must be
  // duplicates of the descriptors that ByteStream::descriptors() returned for the earlier stream;
  // the new stream owns them. If resuming fails, the first read() or write() returns the error.
  virtual std::unique_ptr<ByteStream> resume(std::vector<Descriptor> descriptors,
                                             StreamEvents& events) = 0;
  virtual std::unique_ptr<Timer> timer(std::function<void()> on_time) = 0;
  // Calls `on_readable` in each iteration in which the descriptor is readable. Use this for
  // descriptors that are not streams, such as the event descriptor of an RDMA device. The reactor
  // of unit tests (tests/fake_reactor.h) returns nullptr.
  virtual std::unique_ptr<Watch> watch(int descriptor, std::function<void()> on_readable) = 0;
  // Reports that the caller has found work, and makes the reactor poll an idle core for at least
  // `time` before it sleeps, because polling for an event that is expected soon costs less than a
  // wake-up. The reactor yields the core between polls. While other threads use the core, the
  // reactor counts polls instead of the time, and polls even if `time` is 0 (docs/waiting.md).
  virtual void poll_for(Duration time) = 0;
  virtual void add_iteration_events(IterationEvents& events) = 0;
  virtual void remove_iteration_events(IterationEvents& events) = 0;

  // Asserts that the calling thread may use the reactor and what belongs to it.
  void assert_in_loop() const { loop_thread_.assert_in_loop(); }

 protected:
  LoopThread loop_thread_;  // knows which thread runs the reactor
};

}  // namespace hat
