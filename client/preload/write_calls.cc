// SPDX-License-Identifier: Apache-2.0
// client/preload/write_calls.cc: write, send and the other functions that write, for rings.
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "client/preload/connection.h"
#include "client/preload/descriptors.h"
#include "client/preload/listener.h"
#include "client/preload/real.h"

namespace hatrpc::preload {
namespace {

// Writes to a ring as sendmsg(2) does. Returns kReplaced if `fd` is not, or no longer, a ring; most
// callers then call the C library's function.
ssize_t send_parts(int fd, const iovec* parts, size_t count, int flags) {
  const auto connection = descriptors::ring(fd);
  return connection == nullptr ? Connection::kReplaced
                               : connection->send(fd, Parts(parts, count), flags);
}

ssize_t send_bytes(int fd, const void* from, size_t bytes, int flags) {
  const iovec part{const_cast<void*>(from), bytes};
  return send_parts(fd, &part, 1, flags);
}

// Reads up to `bytes` bytes at the offset `at` of a file, and sends them. Increases `at` by the
// number of bytes sent, and returns this number, or -1 and errno.
ssize_t send_file(int fd, int file, off_t& at, size_t bytes) {
  constexpr size_t kPieceBytes = 64 * 1024;
  const auto piece = std::make_unique_for_overwrite<char[]>(std::min(bytes, kPieceBytes));
  size_t done = 0;
  while (done < bytes) {
    const ssize_t there = pread(file, piece.get(), std::min(bytes - done, kPieceBytes), at);
    if (there <= 0) return done != 0 ? static_cast<ssize_t>(done) : there;
    const ssize_t sent = send_bytes(fd, piece.get(), static_cast<size_t>(there), 0);
    if (sent == Connection::kReplaced) errno = EBADF;
    if (sent < 0) return done != 0 ? static_cast<ssize_t>(done) : -1;
    done += static_cast<size_t>(sent);
    at += sent;
    if (sent < there) break;
  }
  return static_cast<ssize_t>(done);
}

// A copy of a message that carries descriptors (SCM_RIGHTS), in which each listening socket that
// also accepts rings is replaced by its TCP socket. The receiver then accepts connections over TCP.
class ListenersInMessage {
 public:
  explicit ListenersInMessage(const msghdr& original) : message_(original) {
    const auto* from = static_cast<const char*>(original.msg_control);
    if (from == nullptr || original.msg_controllen > kControlMax) return;
    std::memcpy(control_, from, original.msg_controllen);
    message_.msg_control = control_;
    for (cmsghdr* each = CMSG_FIRSTHDR(&message_); each != nullptr;
         each = CMSG_NXTHDR(&message_, each)) {
      if (each->cmsg_level != SOL_SOCKET || each->cmsg_type != SCM_RIGHTS) continue;
      for (size_t at = CMSG_LEN(0); at + sizeof(int) <= each->cmsg_len; at += sizeof(int)) {
        replace(reinterpret_cast<char*>(each) + at);
      }
    }
  }
  const msghdr& message() const { return message_; }

 private:
  // The kernel accepts up to 253 descriptors in a message. A larger message is sent unchanged.
  static constexpr size_t kControlMax = 2048;

  void replace(char* word) {
    int fd = -1;
    std::memcpy(&fd, word, sizeof fd);
    const auto listener = descriptors::listener(fd);
    if (listener == nullptr) return;
    fd = listener->lend_tcp();
    std::memcpy(word, &fd, sizeof fd);
    used_ = listener;
  }

  msghdr message_;
  alignas(cmsghdr) char control_[kControlMax];
  std::shared_ptr<Listener> used_;  // keeps the TCP socket open until the message is sent
};

}  // namespace
}  // namespace hatrpc::preload

using namespace hatrpc::preload;

HAT_INTERCEPTED ssize_t write(int fd, const void* from, size_t bytes) {
  if (descriptors::is_ring(fd)) {
    const ssize_t count = send_bytes(fd, from, bytes, 0);
    if (count != Connection::kReplaced) return count;
  }
  return real::write(fd, from, bytes);
}

HAT_INTERCEPTED ssize_t writev(int fd, const iovec* parts, int count) {
  if (descriptors::is_ring(fd) && count >= 0) {
    const ssize_t done = send_parts(fd, parts, static_cast<size_t>(count), 0);
    if (done != Connection::kReplaced) return done;
  }
  return real::writev(fd, parts, count);
}

HAT_INTERCEPTED ssize_t send(int fd, const void* from, size_t bytes, int flags) {
  if (descriptors::is_ring(fd)) {
    const ssize_t count = send_bytes(fd, from, bytes, flags);
    if (count != Connection::kReplaced) return count;
  }
  return real::send(fd, from, bytes, flags);
}

HAT_INTERCEPTED ssize_t sendto(int fd, const void* from, size_t bytes, int flags,
                               const sockaddr* to, socklen_t to_bytes) {
  if (descriptors::is_ring(fd)) {
    const ssize_t count = send_bytes(fd, from, bytes, flags);
    if (count != Connection::kReplaced) return count;
  }
  return real::sendto(fd, from, bytes, flags, to, to_bytes);
}

HAT_INTERCEPTED ssize_t sendmsg(int fd, const msghdr* message, int flags) {
  if (descriptors::is_ring(fd)) {
    const ssize_t count = send_parts(fd, message->msg_iov, message->msg_iovlen, flags);
    if (count != Connection::kReplaced) return count;
  }
  if (message != nullptr && message->msg_controllen != 0) {
    ListenersInMessage replaced(*message);
    return real::sendmsg(fd, &replaced.message(), flags);
  }
  return real::sendmsg(fd, message, flags);
}

HAT_INTERCEPTED int sendmmsg(int fd, mmsghdr* messages, unsigned count, int flags) {
  if (!descriptors::is_ring(fd)) return real::sendmmsg(fd, messages, count, flags);
  for (unsigned sent = 0; sent < count; ++sent) {
    const ssize_t bytes = sendmsg(fd, &messages[sent].msg_hdr, flags);
    if (bytes < 0) return sent != 0 ? static_cast<int>(sent) : -1;
    messages[sent].msg_len = static_cast<unsigned>(bytes);
  }
  return static_cast<int>(count);
}

HAT_INTERCEPTED ssize_t sendfile(int fd, int file, off_t* offset, size_t bytes) {
  if (!descriptors::is_ring(fd)) return real::sendfile(fd, file, offset, bytes);
  if (offset != nullptr) return send_file(fd, file, *offset, bytes);
  off_t at = lseek(file, 0, SEEK_CUR);
  if (at < 0) return -1;
  const ssize_t sent = send_file(fd, file, at, bytes);
  lseek(file, at, SEEK_SET);
  return sent;
}

static_assert(sizeof(off_t) == sizeof(off64_t));
HAT_INTERCEPTED ssize_t sendfile64(int fd, int file, off64_t* offset, size_t bytes) {
  return sendfile(fd, file, offset, bytes);
}
