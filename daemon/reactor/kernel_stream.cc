// SPDX-License-Identifier: Apache-2.0
#include "daemon/reactor/kernel_stream.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/accept_pause.h"
#include "daemon/reactor/ring_stream.h"
#include "daemon/reactor/socket_address.h"

namespace hat {
namespace {

IoResult failed() {
  if (errno == EAGAIN || errno == EINTR || errno == EINPROGRESS) {
    return {IoResult::Kind::kWouldBlock};
  }
  return {IoResult::Kind::kError, 0, errno};
}

// Errors are ignored: these calls fail on unix sockets, which need neither TCP_NODELAY nor
// keepalive.
void set_tcp_options(int fd, std::chrono::seconds probe_after) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (probe_after.count() == 0) return;
  const auto idle = static_cast<int>(probe_after.count());
  const int interval = 10, probes = 3;
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
}

class KernelTimer final : public Timer {
 public:
  KernelTimer(event_base* base, LibeventReactor& reactor, std::function<void()> on_time)
      : reactor_(reactor), on_time_(std::move(on_time)) {
    evtimer_assign(
        &event_, base,
        [](evutil_socket_t, short, void* self) { static_cast<KernelTimer*>(self)->on_time_(); },
        this);
  }
  ~KernelTimer() override { event_del(&event_); }

  void set(TimePoint when) override {
    const auto us = std::chrono::ceil<std::chrono::microseconds>(when - reactor_.now()).count();
    const auto left = us < 0 ? 0 : us;
    const timeval after{left / 1'000'000, left % 1'000'000};
    event_add(&event_, &after);
  }
  void cancel() override { event_del(&event_); }

 private:
  LibeventReactor& reactor_;
  std::function<void()> on_time_;
  event event_;
};

}  // namespace

KernelStream::KernelStream(LibeventReactor& reactor, int fd, int error, bool connecting,
                           StreamEvents& events)
    : reactor_(reactor), events_(events), fd_(fd), error_(error), connecting_(connecting) {
  event_base* base = reactor.base_.get();
  // A stream without a descriptor still reports its error in an event, as a failed connection does.
  event_assign(&read_event_, base, fd, fd < 0 ? 0 : EV_READ | EV_PERSIST, on_event, this);
  event_assign(&write_event_, base, fd, fd < 0 ? 0 : EV_WRITE | EV_PERSIST, on_event, this);
}

KernelStream::~KernelStream() {
  reactor_.assert_in_loop();
  forget_again();
  event_del(&read_event_);
  event_del(&write_event_);
  if (fd_ >= 0) close(fd_);
}

void KernelStream::on_event(evutil_socket_t, short what, void* self) {
  auto* stream = static_cast<KernelStream*>(self);
  stream->reactor_.note_event();
  if ((what & EV_WRITE) != 0) {
    stream->events_.on_writable();
  } else {
    stream->events_.on_readable();
  }
}

bool KernelStream::connect_pending() {
  if (!connecting_) return false;
  int error = 0;
  socklen_t length = sizeof error;
  getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &length);
  if (error != 0) error_ = error;
  sockaddr_storage peer;
  socklen_t peer_length = sizeof peer;
  connecting_ =
      error == 0 && getpeername(fd_, reinterpret_cast<sockaddr*>(&peer), &peer_length) != 0;
  return connecting_;
}

IoResult KernelStream::read(std::span<std::byte> into) {
  if (connect_pending()) return {IoResult::Kind::kWouldBlock};
  if (error_ != 0) return {IoResult::Kind::kError, 0, error_};
  const ssize_t count = recv(fd_, into.data(), into.size(), 0);
  if (count > 0) return {IoResult::Kind::kOk, static_cast<size_t>(count)};
  return count == 0 ? IoResult{IoResult::Kind::kEnd} : failed();
}

IoResult KernelStream::write(std::span<const iovec> from) {
  if (connect_pending()) return {IoResult::Kind::kWouldBlock};
  if (error_ != 0) return {IoResult::Kind::kError, 0, error_};
  ssize_t count = 0;
  if (from.size() == 1) {
    count = send(fd_, from[0].iov_base, from[0].iov_len, MSG_NOSIGNAL);
  } else {
    const msghdr message{.msg_iov = const_cast<iovec*>(from.data()), .msg_iovlen = from.size()};
    count = sendmsg(fd_, &message, MSG_NOSIGNAL);
  }
  return count > 0 ? IoResult{IoResult::Kind::kOk, static_cast<size_t>(count)} : failed();
}

void KernelStream::shutdown_write() {
  if (fd_ >= 0) shutdown(fd_, SHUT_WR);
}

void KernelStream::want_read(bool wanted) {
  if (!wanted) {
    forget_again();
    event_del(&read_event_);
  } else {
    event_add(&read_event_, nullptr);
    if (fd_ < 0) event_active(&read_event_, EV_READ, 0);
  }
}

void KernelStream::want_write(bool wanted) {
  if (!wanted) {
    event_del(&write_event_);
  } else {
    event_add(&write_event_, nullptr);
    if (fd_ < 0) event_active(&write_event_, EV_WRITE, 0);
  }
}

void KernelStream::read_again() {
  if (!std::exchange(again_, true)) reactor_.read_again_.push_back(this);
}

void KernelStream::acknowledge_now() {
  if (!acknowledges_) return;
  const int on = 1;
  acknowledges_ = setsockopt(fd_, IPPROTO_TCP, TCP_QUICKACK, &on, sizeof on) == 0;
}

void KernelStream::forget_again() {
  if (std::exchange(again_, false)) std::erase(reactor_.read_again_, this);
}

void KernelStream::abort_on_close() {
  const linger now{1, 0};
  if (fd_ >= 0) setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

std::vector<int> KernelStream::descriptors() const {
  if (fd_ < 0 || error_ != 0 || connecting_) return {};
  return {fd_};
}

std::unique_ptr<ByteStream> LibeventReactor::resume_accepted(Descriptor socket,
                                                             hatrpc::ring::Memory memory,
                                                             StreamEvents& events) {
  assert_in_loop();
  if (memory) {
    return std::make_unique<RingStream>(*this, socket.release(), std::move(memory),
                                        hatrpc::ring::Side::kAcceptor, events);
  }
  return std::make_unique<KernelStream>(*this, socket.release(), 0, false, events);
}

std::unique_ptr<ByteStream> LibeventReactor::resume(std::vector<Descriptor> descriptors,
                                                    StreamEvents& events) {
  assert_in_loop();
  if (descriptors.size() == 1) {
    return std::make_unique<KernelStream>(*this, descriptors[0].release(), 0, false, events);
  }
  hatrpc::ring::Memory memory;
  const int error =
      descriptors.size() == 2 ? hatrpc::ring::Memory::map(descriptors[1].release(), memory) : EBADF;
  if (error != 0) return std::make_unique<KernelStream>(*this, -1, error, false, events);
  return std::make_unique<RingStream>(*this, descriptors[0].release(), std::move(memory),
                                      hatrpc::ring::Side::kConnector, events);
}

std::unique_ptr<ByteStream> LibeventReactor::connect(const Address& to, StreamEvents& events) {
  assert_in_loop();
  const auto where = resolve(to, false);
  if (!where) return std::make_unique<KernelStream>(*this, -1, EHOSTUNREACH, false, events);
  const int fd = socket(where->storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return std::make_unique<KernelStream>(*this, -1, errno, false, events);
  set_tcp_options(fd, probe_tcp_after_);
  const int result =
      ::connect(fd, reinterpret_cast<const sockaddr*>(&where->storage), where->length);
  const int error = result == 0 || errno == EINPROGRESS ? 0 : errno;
  if (error != 0) close(fd);
  if (to.kind == Address::Kind::kShm) {
    return std::make_unique<RingStream>(*this, error == 0 ? fd : -1, error,
                                        hatrpc::ring::Side::kConnector, events);
  }
  if (error != 0) return std::make_unique<KernelStream>(*this, -1, error, false, events);
  if (to.kind == Address::Kind::kUnix) refuse_descriptors(fd);
  return std::make_unique<KernelStream>(*this, fd, 0, result != 0, events);
}

std::unique_ptr<Timer> LibeventReactor::timer(std::function<void()> on_time) {
  assert_in_loop();
  return std::make_unique<KernelTimer>(base_.get(), *this, std::move(on_time));
}

// --- Listening ---

class KernelListener final : public Listener {
 public:
  KernelListener(LibeventReactor& reactor, const ListenSocket& socket, ListenerEvents& events)
      : reactor_(reactor),
        fd_(socket.fd()),
        rings_(socket.address().kind == Address::Kind::kShm),
        local_(socket.address().kind != Address::Kind::kTcp),
        events_(events) {
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
    const int fd = accept4(fd_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
      // If the process has no descriptors left, accept4() would fail again at once, and the loop
      // would spin.
      if (accept_must_pause(errno)) {
        const timeval pause{0, std::chrono::microseconds(kAcceptPause).count()};
        event_del(&event_);
        evtimer_add(&pause_, &pause);
      }
      return;  // for other errors: another worker took the connection, or the client left
    }
    set_tcp_options(fd, reactor_.probe_tcp_after_);
    if (local_) refuse_descriptors(fd);
    bool taken = false;
    events_.on_connection([&](StreamEvents& events) -> std::unique_ptr<ByteStream> {
      taken = true;
      if (rings_) {
        return std::make_unique<RingStream>(reactor_, fd, 0, hatrpc::ring::Side::kAcceptor, events);
      }
      return std::make_unique<KernelStream>(reactor_, fd, 0, false, events);
    });
    if (!taken) close(fd);
  }

  LibeventReactor& reactor_;
  const int fd_;
  const bool rings_;
  const bool local_;
  ListenerEvents& events_;
  event event_;
  event pause_;
};

class KernelWatch final : public Watch {
 public:
  KernelWatch(LibeventReactor& reactor, int fd, std::function<void()> on_readable)
      : reactor_(reactor), on_readable_(std::move(on_readable)) {
    event_assign(
        &event_, reactor.base_.get(), fd, EV_READ | EV_PERSIST,
        [](evutil_socket_t, short, void* self) { static_cast<KernelWatch*>(self)->tell(); }, this);
    event_add(&event_, nullptr);
  }
  ~KernelWatch() override { event_del(&event_); }

 private:
  void tell() {
    reactor_.note_event();
    on_readable_();
  }

  LibeventReactor& reactor_;
  const std::function<void()> on_readable_;
  event event_;
};

std::unique_ptr<Watch> LibeventReactor::watch(int descriptor, std::function<void()> on_readable) {
  assert_in_loop();
  return std::make_unique<KernelWatch>(*this, descriptor, std::move(on_readable));
}

std::unique_ptr<Listener> LibeventReactor::listen(const ListenSocket& socket,
                                                  ListenerEvents& events) {
  assert_in_loop();
  return std::make_unique<KernelListener>(*this, socket, events);
}

}  // namespace hat
