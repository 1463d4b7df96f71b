// SPDX-License-Identifier: Apache-2.0
// client/preload/read_calls.cc: read, recv and the other functions that read, for rings.
#include <sys/socket.h>
#include <sys/uio.h>

#include "client/preload/connection.h"
#include "client/preload/descriptors.h"
#include "client/preload/real.h"

namespace hatrpc::preload {
namespace {

// Reads from a ring as recvmsg(2) does. Returns kReplaced if `fd` is not, or no longer, a ring; the
// caller then calls the C library's function.
ssize_t receive(int fd, const iovec* parts, size_t count, int flags) {
  const auto connection = descriptors::ring(fd);
  return connection == nullptr ? Connection::kReplaced
                               : connection->receive(fd, Parts(parts, count), flags);
}

ssize_t receive(int fd, void* into, size_t bytes, int flags) {
  const iovec part{into, bytes};
  return receive(fd, &part, 1, flags);
}

}  // namespace
}  // namespace hatrpc::preload

using namespace hatrpc::preload;

HAT_INTERCEPTED ssize_t read(int fd, void* into, size_t bytes) {
  if (descriptors::is_ring(fd)) {
    const ssize_t count = receive(fd, into, bytes, 0);
    if (count != Connection::kReplaced) return count;
  }
  return real::read(fd, into, bytes);
}

HAT_INTERCEPTED ssize_t __read_chk(int fd, void* into, size_t bytes, size_t) {
  return read(fd, into, bytes);
}

HAT_INTERCEPTED ssize_t readv(int fd, const iovec* parts, int count) {
  if (descriptors::is_ring(fd) && count >= 0) {
    const ssize_t done = receive(fd, parts, static_cast<size_t>(count), 0);
    if (done != Connection::kReplaced) return done;
  }
  return real::readv(fd, parts, count);
}

HAT_INTERCEPTED ssize_t recv(int fd, void* into, size_t bytes, int flags) {
  if (descriptors::is_ring(fd)) {
    const ssize_t count = receive(fd, into, bytes, flags);
    if (count != Connection::kReplaced) return count;
  }
  return real::recv(fd, into, bytes, flags);
}

HAT_INTERCEPTED ssize_t __recv_chk(int fd, void* into, size_t bytes, size_t, int flags) {
  return recv(fd, into, bytes, flags);
}

HAT_INTERCEPTED ssize_t recvfrom(int fd, void* into, size_t bytes, int flags, sockaddr* from,
                                 socklen_t* from_bytes) {
  if (descriptors::is_ring(fd)) {
    const ssize_t count = receive(fd, into, bytes, flags);
    if (count >= 0 && from_bytes != nullptr) *from_bytes = 0;  // as TCP does
    if (count != Connection::kReplaced) return count;
  }
  return real::recvfrom(fd, into, bytes, flags, from, from_bytes);
}

HAT_INTERCEPTED ssize_t __recvfrom_chk(int fd, void* into, size_t bytes, size_t, int flags,
                                       sockaddr* from, socklen_t* from_bytes) {
  return recvfrom(fd, into, bytes, flags, from, from_bytes);
}

HAT_INTERCEPTED ssize_t recvmsg(int fd, msghdr* message, int flags) {
  if (descriptors::is_ring(fd)) {
    const ssize_t count = receive(fd, message->msg_iov, message->msg_iovlen, flags);
    if (count >= 0) {
      message->msg_namelen = 0;
      message->msg_controllen = 0;
      message->msg_flags = 0;
    }
    if (count != Connection::kReplaced) return count;
  }
  return real::recvmsg(fd, message, flags);
}

// Receives at most one message per call. This is allowed, because recvmmsg(2) may return fewer
// messages than `count`.
HAT_INTERCEPTED int recvmmsg(int fd, mmsghdr* messages, unsigned count, int flags,
                             timespec* timeout) {
  if (!descriptors::is_ring(fd) || count == 0)
    return real::recvmmsg(fd, messages, count, flags, timeout);
  const ssize_t bytes = recvmsg(fd, &messages->msg_hdr, flags & ~MSG_WAITFORONE);
  if (bytes < 0) return -1;
  messages->msg_len = static_cast<unsigned>(bytes);
  return 1;
}
