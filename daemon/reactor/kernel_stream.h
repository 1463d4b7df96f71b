// SPDX-License-Identifier: Apache-2.0
// daemon/reactor/kernel_stream.h: a LibeventReactor's streams over kernel sockets.
#pragma once

#include <event2/event.h>
#include <event2/event_struct.h>

#include "base/descriptor.h"
#include "daemon/reactor/libevent_reactor.h"

namespace hat {

class KernelStream final : public ByteStream {
 public:
  // Makes a stream over a non-blocking socket. `connecting` says that connect(2) has not finished.
  KernelStream(LibeventReactor& reactor, Descriptor socket, bool connecting, StreamEvents& events)
      : KernelStream(reactor, std::move(socket), 0, connecting, events) {}
  // Makes a stream that failed before it began: read() and write() return `error`, an errno value.
  KernelStream(LibeventReactor& reactor, int error, StreamEvents& events)
      : KernelStream(reactor, Descriptor(), error, false, events) {}
  ~KernelStream() override;

  IoResult read(std::span<std::byte> into) override;
  IoResult write(std::span<const iovec> from) override;
  void shutdown_write() override;
  void want_read(bool wanted) override;
  void want_write(bool wanted) override;
  void read_again() override;
  void acknowledge_now() override;
  void abort_on_close() override;
  std::vector<int> descriptors() const override;

 private:
  friend class LibeventReactor;

  KernelStream(LibeventReactor& reactor, Descriptor socket, int error, bool connecting,
               StreamEvents& events);
  static void on_event(evutil_socket_t, short what, void* self);
  bool connect_pending();
  void activate_again() {
    again_ = false;
    event_active(&read_event_, EV_READ, 0);
  }
  void forget_again();

  LibeventReactor& reactor_;
  StreamEvents& events_;
  const Descriptor socket_;
  int error_;
  bool connecting_;
  bool again_ = false;
  bool acknowledges_ = true;  // until TCP_QUICKACK fails, as it does on unix sockets
  event read_event_;
  event write_event_;
};

}  // namespace hat
