// SPDX-License-Identifier: Apache-2.0
// base/reactor.h: what a worker asks of its event loop: sockets that never block, timers, a clock.
//
// One reactor belongs to one thread, and so does all that it makes. The daemon's reactor is
// libevent over the kernel's sockets (daemon/reactor/libevent_reactor.h). The simulation's is a
// network and a clock made from a seed (tests/sim/sim_reactor.h), which is why nothing above this
// header may call the kernel about a socket or about the time.
//
// A turn: the reactor waits, reads the clock once, calls whoever has something to do, and then
// calls every TurnEvents once, so that work which is cheaper in batches is done in batches. It
// calls them before the first wait too: what set-up has queued must not wait for an event.
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
#include "base/descriptor.h"
#include "base/result.h"

namespace hat {

using Duration = std::chrono::nanoseconds;
using TimePoint = std::chrono::time_point<std::chrono::steady_clock, Duration>;

// What one read or write came to. `bytes` is set for kOk alone, and is then at least 1.
struct IoResult {
  enum class Kind : uint8_t {
    kOk,
    kWouldBlock,  // nothing moved; the matching event follows when it can
    kEnd,         // read: the other side will send no more (half-close)
    kError,       // the stream is dead; `error` says why
  };
  Kind kind = Kind::kWouldBlock;
  size_t bytes = 0;
  int error = 0;  // an errno value, for kError
};

// Told by a Stream. Either call may destroy the stream that made it.
class StreamEvents {
 public:
  virtual ~StreamEvents() = default;
  // Bytes, the end of the stream, or an error: read() tells which. Level-triggered while wanted.
  virtual void on_readable() = 0;
  // After want_write(true): room again, a finished connect, or an error that write() will tell.
  virtual void on_writable() = 0;
};

// A connected (or connecting) byte stream. Destroying it closes it: with FIN when all was read and
// written, as close(2) does.
class Stream {
 public:
  virtual ~Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  virtual IoResult read(std::span<std::byte> into) = 0;
  // Gathers; may take fewer bytes than offered. A stream that is still connecting says kWouldBlock.
  virtual IoResult write(std::span<const iovec> from) = 0;
  // Nothing that write() took waits in this process for room.
  virtual bool all_sent() const { return true; }
  // Half-close: the other side reads the end after what was written; reading goes on.
  virtual void shutdown_write() = 0;
  // Which events to deliver. A new stream wants neither.
  virtual void want_read(bool wanted) = 0;
  virtual void want_write(bool wanted) = 0;
  // One on_readable() more, at a later look, whether or not bytes have come: for a reader that
  // keeps some of what it has read, so that others have their turn in between. want_read(false)
  // forgets it.
  virtual void read_again() = 0;
  // Part of a message was read, and its rest may wait for the acknowledgement of that part: a
  // sender with Nagle's algorithm on holds the rest back, and a receiver delays the acknowledgement
  // (40 ms on Linux). Sends it now; does nothing where there is no such thing.
  virtual void acknowledge_now() {}
  // Makes the destructor send RST instead of FIN, for a peer that must not mistake it for an end.
  virtual void abort_on_close() = 0;

  // What an error of read() or write() means, in words.
  virtual std::string error_text(int error) const { return std::strerror(error); }
  // Who the other side has proved to be: the names in its certificate (config/identity.h). Empty
  // where it proves nothing, or has not yet.
  virtual std::span<const std::string> peer_names() const { return {}; }

  // --- Where bytes come by shared memory; other streams show none ---
  // What has come, where it lies. The other side may change it while it is looked at.
  virtual std::span<const std::byte> peek() { return {}; }
  // Takes bytes from the front of that, which the other side overwrites then.
  virtual void take([[maybe_unused]] size_t bytes) {}
  // Takes them, but they stay until give_back() of the number, or as long as memory() is held.
  virtual uint64_t borrow([[maybe_unused]] size_t bytes) { return 0; }
  virtual void give_back([[maybe_unused]] uint64_t borrowed) {}
  // All that peek() can show; mapped while it is held, also when the stream has gone.
  virtual std::shared_ptr<const std::span<std::byte>> memory() { return nullptr; }

  // --- Where another process can go on with a connection (daemon/proxy/successor.h) ---
  // The descriptors that this takes; they stay the stream's. Empty: it cannot, or not now.
  virtual std::vector<int> descriptors() const { return {}; }

 protected:
  Stream() = default;
};

// Told by a Listener: a new stream, which the callee binds to its events with Stream's owner.
class ListenerEvents {
 public:
  virtual ~ListenerEvents() = default;
  // `accept(events)` makes the stream; not calling it refuses the connection.
  using Accept = std::function<std::unique_ptr<Stream>(StreamEvents&)>;
  virtual void on_connection(const Accept& accept) = 0;
};

// A listening socket. Destroying it stops accepting; a unix socket's path stays.
class Listener {
 public:
  virtual ~Listener() = default;
  virtual void want_accept(bool wanted) = 0;
};

// A one-shot alarm that can be set again. Destroying it cancels it.
class Timer {
 public:
  virtual ~Timer() = default;
  virtual void set(TimePoint when) = 0;  // replaces an earlier setting
  virtual void cancel() = 0;
};

// Somebody else's descriptor, watched. Destroying it ends that.
class Watch {
 public:
  virtual ~Watch() = default;
};

class TurnEvents {
 public:
  virtual ~TurnEvents() = default;
  virtual void on_turn_end() = 0;
  // Before the reactor sleeps, after on_turn_end(): false where it must look again instead.
  virtual bool may_sleep() { return true; }
};

class Reactor {
 public:
  virtual ~Reactor() = default;

  // The clock as it was read for what is handled now: events that were ready together agree.
  virtual TimePoint now() const = 0;
  // Never fails at once: what goes wrong is told by the first read() or write().
  virtual std::unique_ptr<Stream> connect(const Address& to, StreamEvents& events) = 0;
  // Goes on with a connection that another stream had opened, perhaps in another process: owns
  // duplicates of what its Stream::descriptors() gave. Fails as connect() does.
  virtual std::unique_ptr<Stream> resume(std::vector<Descriptor> descriptors,
                                         StreamEvents& events) = 0;
  virtual std::unique_ptr<Timer> timer(std::function<void()> on_time) = 0;
  // Calls `on_readable` in each turn in which the descriptor is. For what has no stream: an RDMA
  // device's events. Reactors without a kernel (the simulation's) return nullptr.
  virtual std::unique_ptr<Watch> watch(int descriptor, std::function<void()> on_readable) = 0;
  // Until then, look again instead of sleeping (yielding the core in between): what is expected
  // soon costs less to look for than to be woken for. Earlier times than one set before change
  // nothing.
  virtual void stay_awake_until(TimePoint when) = 0;
  virtual void add_turn_events(TurnEvents& events) = 0;
  virtual void remove_turn_events(TurnEvents& events) = 0;
};

}  // namespace hat
