// SPDX-License-Identifier: Apache-2.0
// base/reactor.h: a worker's interface to its event loop: non-blocking sockets, timers, a clock.
//
// A reactor and all objects that it creates belong to one thread. The daemon's reactor uses
// libevent over the kernel's sockets (daemon/reactor/libevent_reactor.h). The simulation's reactor
// is a network and a clock generated from a seed (tests/sim/sim_reactor.h). Therefore no code above
// this header may ask the kernel about a socket or about the time.
//
// An event-loop iteration: the reactor waits, reads the clock once, calls every object that has an
// event, and then calls every IterationEvents once, so that work that is cheaper in batches is done
// in batches. The reactor also calls every IterationEvents before the first wait: work that was
// queued during set-up must not wait for an event.
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
    kWouldBlock,  // no bytes were transferred; the matching event follows when they can be
    kEnd,         // read: the other side will send no more (half-close)
    kError,       // the stream is dead; `error` says why
  };
  Kind kind = Kind::kWouldBlock;
  size_t bytes = 0;
  int error = 0;  // an errno value, for kError
};

// Called by a ByteStream. Either call may destroy the stream that made it.
class StreamEvents {
 public:
  virtual ~StreamEvents() = default;
  // There are bytes, the end of the stream, or an error; read() returns which. Called in every
  // iteration while this is so and want_read(true) is set (level-triggered).
  virtual void on_readable() = 0;
  // After want_write(true): there is space again, connecting has finished, or there is an error
  // that write() will return.
  virtual void on_writable() = 0;
};

// A connected (or connecting) byte stream. The destructor closes the connection as close(2) does:
// with FIN if everything was read and written.
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  ByteStream(const ByteStream&) = delete;
  ByteStream& operator=(const ByteStream&) = delete;

  virtual IoResult read(std::span<std::byte> into) = 0;
  // Writes the buffers in order; may accept fewer bytes than offered. Returns kWouldBlock while the
  // stream is still connecting.
  virtual IoResult write(std::span<const iovec> from) = 0;
  // Returns true if none of the bytes that write() accepted waits in this process for space.
  virtual bool all_sent() const { return true; }
  // Half-closes the connection: the other side reads the end after the bytes written so far.
  // Reading remains possible.
  virtual void shutdown_write() = 0;
  // Set which events the stream delivers. A new stream delivers neither.
  virtual void want_read(bool wanted) = 0;
  virtual void want_write(bool wanted) = 0;
  // Requests one more on_readable() in a later iteration, whether or not bytes have arrived. A
  // reader that keeps some of the bytes it has read uses this to let other streams proceed in
  // between. want_read(false) cancels the request.
  virtual void read_again() = 0;
  // Sends the acknowledgement of received bytes now; does nothing on streams without delayed
  // acknowledgements. Call this when a part of a message was read and the rest may wait for the
  // acknowledgement of that part: a sender with Nagle's algorithm holds the rest back, while the
  // receiver delays the acknowledgement (40 ms on Linux).
  virtual void acknowledge_now() {}
  // Makes the destructor send RST instead of FIN, if the other side must not mistake the close for
  // an orderly end.
  virtual void abort_on_close() = 0;

  // Returns a description of an error that read() or write() returned.
  virtual std::string error_text(int error) const { return std::strerror(error); }
  // Returns the identities that the other side has proved: the names in its certificate
  // (config/identity.h). Returns none if the other side proves no identity, or has not done so yet.
  virtual std::span<const std::string> peer_names() const { return {}; }

  // --- For streams over shared memory; other streams return nothing here ---
  // Returns the received bytes in place. The other side may change them while the caller reads
  // them.
  virtual std::span<const std::byte> peek() { return {}; }
  // Removes bytes from the front of peek(); the other side may then overwrite them.
  virtual void take([[maybe_unused]] size_t bytes) {}
  // Removes bytes from the front of peek(), but the other side does not overwrite them until
  // give_back() is called with the returned number. If the stream is destroyed first, the bytes
  // remain readable as long as the caller holds memory().
  virtual uint64_t borrow([[maybe_unused]] size_t bytes) { return 0; }
  virtual void give_back([[maybe_unused]] uint64_t borrowed) {}
  // Returns the memory that holds every byte peek() can return. It stays mapped while the caller
  // holds the pointer, even after the stream is destroyed.
  virtual std::shared_ptr<const std::span<std::byte>> memory() { return nullptr; }

  // --- For connections that another process can continue (daemon/proxy/successor.h) ---
  // Returns the descriptors that another process needs to resume this connection; the stream still
  // owns them. Returns none if the connection cannot be resumed, or not at present.
  virtual std::vector<int> descriptors() const { return {}; }

 protected:
  ByteStream() = default;
};

// Called by a Listener for each new connection.
class ListenerEvents {
 public:
  virtual ~ListenerEvents() = default;
  // `accept(events)` creates the stream, which belongs to the caller and reports to `events`. If
  // the callee does not call `accept`, the connection is refused.
  using Accept = std::function<std::unique_ptr<ByteStream>(StreamEvents&)>;
  virtual void on_connection(const Accept& accept) = 0;
};

// A listening socket. Destroying it stops accepting; the path of a unix socket remains.
class Listener {
 public:
  virtual ~Listener() = default;
  virtual void want_accept(bool wanted) = 0;
};

// A timer that fires once and can be set again. Destroying it cancels it.
class Timer {
 public:
  virtual ~Timer() = default;
  virtual void set(TimePoint when) = 0;  // replaces an earlier setting
  virtual void cancel() = 0;
};

// A watch on a descriptor that another object owns. Destroying it ends the watch.
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

  // Returns the clock value that was read for the events being handled: events that were ready
  // together get the same value.
  virtual TimePoint now() const = 0;
  // Never fails immediately: the first read() or write() returns any error.
  virtual std::unique_ptr<ByteStream> connect(const Address& to, StreamEvents& events) = 0;
  // Resumes a connection that another stream had opened, possibly in another process. Takes
  // ownership of `descriptors`, duplicates of the ones that ByteStream::descriptors() returned
  // there. Reports errors as connect() does.
  virtual std::unique_ptr<ByteStream> resume(std::vector<Descriptor> descriptors,
                                             StreamEvents& events) = 0;
  virtual std::unique_ptr<Timer> timer(std::function<void()> on_time) = 0;
  // Calls `on_readable` in each iteration in which the descriptor is readable. For descriptors that
  // are not streams, such as the event descriptor of an RDMA device. The FakeReactor of the tests
  // returns nullptr.
  virtual std::unique_ptr<Watch> watch(int descriptor, std::function<void()> on_readable) = 0;
  // Until `when`, makes the reactor poll instead of sleeping, and yield the core between polls:
  // polling for an event that is expected soon costs less than a wake-up. A time before one that
  // was set earlier changes nothing.
  virtual void stay_awake_until(TimePoint when) = 0;
  virtual void add_iteration_events(IterationEvents& events) = 0;
  virtual void remove_iteration_events(IterationEvents& events) = 0;

  // Asserts that the calling thread may use the reactor and what belongs to it.
  void assert_in_loop() const { loop_thread_.assert_in_loop(); }

 protected:
  LoopThread loop_thread_;  // entered while a thread runs the reactor
};

}  // namespace hat
