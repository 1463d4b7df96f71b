// SPDX-License-Identifier: Apache-2.0
// daemon/reactor/kernel_stream.h: the ByteStream of a LibeventReactor over a kernel socket. The .cc
// file also has the reactor's timers, listeners and descriptor watches.
#pragma once

#include <event2/event.h>
#include <event2/event_struct.h>

#include "daemon/reactor/libevent_reactor.h"

namespace hat {

class KernelStream final : public ByteStream {
 public:
  // Takes ownership of `fd`, which must be non-blocking. If the connection failed before this
  // object existed, `fd` is -1 and `error` is the errno value that read() and write() report.
  KernelStream(LibeventReactor& reactor, int fd, int error, bool connecting, StreamEvents& events);
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

  static void on_event(evutil_socket_t, short what, void* self);
  bool connect_pending();
  void activate_again() {
    again_ = false;
    event_active(&read_event_, EV_READ, 0);
  }
  void forget_again();

  LibeventReactor& reactor_;
  StreamEvents& events_;
  int fd_;
  int error_;
  bool connecting_;
  bool again_ = false;
  bool acknowledges_ = true;  // becomes false when setting TCP_QUICKACK fails, as on unix sockets
  event read_event_;
  event write_event_;
};

}  // namespace hat
