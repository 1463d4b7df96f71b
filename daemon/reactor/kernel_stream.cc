// SPDX-License-Identifier: Apache-2.0
#include "daemon/reactor/kernel_stream.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>

namespace hat {
namespace {

IoResult failed() {
  if (errno == EAGAIN || errno == EINTR || errno == EINPROGRESS) {
    return {IoResult::Kind::kWouldBlock};
  }
  return {IoResult::Kind::kError, 0, errno};
}

}  // namespace

KernelStream::KernelStream(LibeventReactor& reactor, Descriptor socket, int error, bool connecting,
                           StreamEvents& events)
    : reactor_(reactor),
      events_(events),
      socket_(std::move(socket)),
      error_(error),
      connecting_(connecting) {
  event_base* base = reactor.base_.get();
  const int fd = socket_.get();
  // Without a descriptor, libevent watches nothing: want_read() and want_write() activate these
  // events themselves, so that the user of the stream gets an event and then reads the error.
  event_assign(&read_event_, base, fd, fd < 0 ? 0 : EV_READ | EV_PERSIST, on_event, this);
  event_assign(&write_event_, base, fd, fd < 0 ? 0 : EV_WRITE | EV_PERSIST, on_event, this);
}

KernelStream::~KernelStream() {
  reactor_.assert_in_loop();
  forget_again();
  event_del(&read_event_);
  event_del(&write_event_);
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
  getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &length);
  if (error != 0) error_ = error;
  sockaddr_storage peer;
  socklen_t peer_length = sizeof peer;
  connecting_ = error == 0 &&
                getpeername(socket_.get(), reinterpret_cast<sockaddr*>(&peer), &peer_length) != 0;
  return connecting_;
}

IoResult KernelStream::read(std::span<std::byte> into) {
  if (connect_pending()) return {IoResult::Kind::kWouldBlock};
  if (error_ != 0) return {IoResult::Kind::kError, 0, error_};
  const ssize_t count = recv(socket_.get(), into.data(), into.size(), 0);
  if (count > 0) return {IoResult::Kind::kOk, static_cast<size_t>(count)};
  return count == 0 ? IoResult{IoResult::Kind::kEnd} : failed();
}

IoResult KernelStream::write(std::span<const iovec> from) {
  if (connect_pending()) return {IoResult::Kind::kWouldBlock};
  if (error_ != 0) return {IoResult::Kind::kError, 0, error_};
  ssize_t count = 0;
  if (from.size() == 1) {
    count = send(socket_.get(), from[0].iov_base, from[0].iov_len, MSG_NOSIGNAL);
  } else {
    const msghdr message{.msg_iov = const_cast<iovec*>(from.data()), .msg_iovlen = from.size()};
    count = sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
  }
  return count > 0 ? IoResult{IoResult::Kind::kOk, static_cast<size_t>(count)} : failed();
}

void KernelStream::shutdown_write() {
  if (socket_.get() >= 0) shutdown(socket_.get(), SHUT_WR);
}

void KernelStream::want_read(bool wanted) {
  if (!wanted) {
    forget_again();
    event_del(&read_event_);
  } else {
    event_add(&read_event_, nullptr);
    if (socket_.get() < 0) event_active(&read_event_, EV_READ, 0);
  }
}

void KernelStream::want_write(bool wanted) {
  if (!wanted) {
    event_del(&write_event_);
  } else {
    event_add(&write_event_, nullptr);
    if (socket_.get() < 0) event_active(&write_event_, EV_WRITE, 0);
  }
}

void KernelStream::read_again() {
  if (!std::exchange(again_, true)) reactor_.read_again_.push_back(this);
}

void KernelStream::acknowledge_now() {
  if (!acknowledges_) return;
  const int on = 1;
  acknowledges_ = setsockopt(socket_.get(), IPPROTO_TCP, TCP_QUICKACK, &on, sizeof on) == 0;
}

void KernelStream::forget_again() {
  if (std::exchange(again_, false)) std::erase(reactor_.read_again_, this);
}

void KernelStream::abort_on_close() {
  const linger now{1, 0};
  if (socket_.get() >= 0) setsockopt(socket_.get(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

std::vector<int> KernelStream::descriptors() const {
  if (socket_.get() < 0 || error_ != 0 || connecting_) return {};
  return {socket_.get()};
}

}  // namespace hat
