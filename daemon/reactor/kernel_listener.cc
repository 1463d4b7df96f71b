// SPDX-License-Identifier: Apache-2.0
// daemon/reactor/kernel_listener.cc: how a LibeventReactor accepts connections on a listening
// socket.
#include <event2/event.h>
#include <event2/event_struct.h>
#include <sys/socket.h>

#include <cerrno>

#include "base/accept_pause.h"
#include "daemon/reactor/kernel_stream.h"
#include "daemon/reactor/ring_stream.h"
#include "daemon/reactor/socket_address.h"

namespace hat {

class KernelListener final : public Listener {
 public:
  KernelListener(LibeventReactor& reactor, const ListenSocket& socket, ListenerEvents& events)
      : reactor_(reactor), fd_(socket.fd()), address_(socket.address()), events_(events) {
    event_assign(&event_, reactor.base_.get(), fd_, EV_READ | EV_PERSIST, on_event, this);
    evtimer_assign(&pause_, reactor.base_.get(), on_pause_over, this);
    event_add(&event_, nullptr);
  }
  ~KernelListener() override {
    event_del(&event_);
    event_del(&pause_);
  }
  void want_accept(bool wanted) override {
    event_del(&pause_);
    wanted ? event_add(&event_, nullptr) : event_del(&event_);
  }

 private:
  static void on_pause_over(evutil_socket_t, short, void* self) {
    event_add(&static_cast<KernelListener*>(self)->event_, nullptr);
  }
  static void on_event(evutil_socket_t, short, void* self) {
    static_cast<KernelListener*>(self)->accept_one();
  }
  void accept_one() {
    reactor_.note_event();
    Descriptor socket(accept4(fd_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (socket.get() < 0) {
      // Pauses if the process has no descriptors left: otherwise accept4() would fail again in each
      // iteration, and the loop would spin.
      if (accept_must_pause(errno)) {
        const timeval pause{0, std::chrono::microseconds(kAcceptPause).count()};
        event_del(&event_);
        evtimer_add(&pause_, &pause);
      }
      return;  // for other errors: another worker took the connection, or the client left
    }
    switch (address_.kind) {
      case Address::Kind::kTcp:
        set_tcp_options(socket.get(), reactor_.probe_tcp_after_);
        break;
      case Address::Kind::kUnix:
      case Address::Kind::kShm:
        refuse_descriptors(socket.get());
        break;
    }
    // If on_connection() makes no stream, `socket` closes the connection.
    events_.on_connection([&](StreamEvents& events) -> std::unique_ptr<ByteStream> {
      if (address_.uses_rings()) {
        return std::make_unique<RingStream>(reactor_, std::move(socket),
                                            hatrpc::ring::Side::kAcceptor, events);
      }
      return std::make_unique<KernelStream>(reactor_, std::move(socket), false, events);
    });
  }

  LibeventReactor& reactor_;
  const int fd_;  // the ListenSocket's
  const Address address_;
  ListenerEvents& events_;
  event event_;
  event pause_;
};

std::unique_ptr<Listener> LibeventReactor::listen(const ListenSocket& socket,
                                                  ListenerEvents& events) {
  assert_in_loop();
  return std::make_unique<KernelListener>(*this, socket, events);
}

}  // namespace hat
