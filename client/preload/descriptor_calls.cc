// SPDX-License-Identifier: Apache-2.0
// client/preload/descriptor_calls.cc: calls that close, duplicate and configure descriptors.
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/sockios.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>

#include "client/preload/connection.h"
#include "client/preload/descriptors.h"
#include "client/preload/epoll_watches.h"
#include "client/preload/listener.h"
#include "client/preload/real.h"

namespace hatrpc::preload {
namespace {

using descriptors::Kind;

// Records that descriptor `made` is now a duplicate of `fd`, whatever `made` was before. Does
// nothing if `made` is negative. Returns `made`.
int duplicated(int fd, int made) {
  if (made < 0 || made == fd || !descriptors::is_own_table()) return made;
  epoll_watches::forget(made);
  if (auto listener = descriptors::listener(fd)) {
    descriptors::put_listener(made, std::move(listener));
    return made;
  }
  descriptors::drop(made);
  if (auto connection = descriptors::ring(fd)) descriptors::put(made, std::move(connection));
  return made;
}

// Returns true and sets errno to EBUSY if `fd` is a descriptor of this library's own, which the
// program must not replace. The error is not unusual: the kernel's dup2(2) also returns EBUSY, if
// another thread is opening a descriptor with this number at this moment.
bool is_taken(int fd) {
  if (descriptors::kind(fd) != Kind::kHidden) return false;
  errno = EBUSY;
  return true;
}

int control(Real<int(int, int, void*)>& real_fcntl, int fd, int command, void* word) {
  const int result = real_fcntl(fd, command, word);
  if (result < 0) return result;
  if (command == F_DUPFD || command == F_DUPFD_CLOEXEC) return duplicated(fd, result);
  if (command == F_SETFL) {
    const auto flags = static_cast<int>(reinterpret_cast<intptr_t>(word));
    if (const auto connection = descriptors::ring(fd)) {
      connection->set_nonblocking((flags & O_NONBLOCK) != 0);
    }
  }
  return result;
}

}  // namespace
}  // namespace hatrpc::preload

using namespace hatrpc::preload;

HAT_INTERCEPTED int close(int fd) {
  const Kind kind = descriptors::kind(fd);
  if (kind == Kind::kHidden) return 0;  // some programs close every descriptor that they find
  if (kind != Kind::kForeign) descriptors::drop(fd);
  epoll_watches::forget(fd);
  return real::close(fd);
}

// Handles syscall(SYS_close, fd) like close(fd), because the library libuv (of Node.js) closes
// descriptors in this way, and does the same with accept and accept4. Passes all other system calls
// on.
HAT_INTERCEPTED long syscall(long number, ...) noexcept {
  va_list rest;
  va_start(rest, number);
  long words[6];
  for (long& word : words) word = va_arg(rest, long);
  va_end(rest);
  if (number == SYS_close) return close(static_cast<int>(words[0]));
  if (number == SYS_accept || number == SYS_accept4) {
    return accept4(static_cast<int>(words[0]), reinterpret_cast<sockaddr*>(words[1]),
                   reinterpret_cast<socklen_t*>(words[2]),
                   number == SYS_accept4 ? static_cast<int>(words[3]) : 0);
  }
  return real::syscall(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}

HAT_INTERCEPTED int socket(int domain, int type, int protocol) noexcept {
  const int fd = real::socket(domain, type, protocol);
  descriptors::forget(fd);
  return fd;
}

HAT_INTERCEPTED int close_range(unsigned first, unsigned last, int flags) noexcept {
  if ((flags & ~int{CLOSE_RANGE_UNSHARE}) != 0 || first > last) {
    return real::close_range(first, last, flags);
  }
  unsigned from = first;
  for (unsigned fd = first; fd <= last && fd < unsigned{descriptors::kMax}; ++fd) {
    descriptors::drop(static_cast<int>(fd));
    epoll_watches::forget(static_cast<int>(fd));
    if (descriptors::kind(static_cast<int>(fd)) != Kind::kHidden) continue;
    if (fd > from && real::close_range(from, fd - 1, flags) != 0) return -1;
    from = fd + 1;
  }
  return from <= last ? real::close_range(from, last, flags) : 0;
}

HAT_INTERCEPTED void closefrom(int first) noexcept {
  close_range(first < 0 ? 0 : static_cast<unsigned>(first), ~0U, 0);
}

HAT_INTERCEPTED int shutdown(int fd, int how) noexcept {
  if (const auto listener = descriptors::listener(fd)) return listener->shutdown(how);
  const auto connection = descriptors::ring(fd);
  return connection == nullptr ? real::shutdown(fd, how) : connection->shutdown(fd, how);
}

HAT_INTERCEPTED int dup(int fd) noexcept { return duplicated(fd, real::dup(fd)); }

HAT_INTERCEPTED int dup2(int fd, int wanted) noexcept {
  return is_taken(wanted) ? -1 : duplicated(fd, real::dup2(fd, wanted));
}

HAT_INTERCEPTED int dup3(int fd, int wanted, int flags) noexcept {
  return is_taken(wanted) ? -1 : duplicated(fd, real::dup3(fd, wanted, flags));
}

HAT_INTERCEPTED int fcntl(int fd, int command, ...) {
  va_list words;
  va_start(words, command);
  void* word = va_arg(words, void*);
  va_end(words);
  return control(real::fcntl, fd, command, word);
}

HAT_INTERCEPTED int fcntl64(int fd, int command, ...) {
  va_list words;
  va_start(words, command);
  void* word = va_arg(words, void*);
  va_end(words);
  return control(real::fcntl64, fd, command, word);
}

HAT_INTERCEPTED int ioctl(int fd, unsigned long request, ...) noexcept {
  va_list words;
  va_start(words, request);
  void* word = va_arg(words, void*);
  va_end(words);
  const auto connection = descriptors::ring(fd);
  if (connection != nullptr && request == FIONREAD) {
    *static_cast<int*>(word) = static_cast<int>(connection->readable_bytes());
    return 0;
  }
  if (connection != nullptr && request == SIOCOUTQ) {
    *static_cast<int*>(word) = static_cast<int>(connection->unread_bytes());
    return 0;
  }
  const int result = real::ioctl(fd, request, word);
  if (connection != nullptr && request == FIONBIO && result == 0) {
    connection->set_nonblocking(*static_cast<int*>(word) != 0);
  }
  return result;
}

HAT_INTERCEPTED int epoll_ctl(int epoll, int operation, int fd, epoll_event* event) noexcept {
  if (descriptors::is_listener(fd) && event != nullptr) {
    // The kernel rejects EPOLLEXCLUSIVE for an epoll descriptor, which the listening socket is now.
    // Without this flag, more processes wake than necessary.
    epoll_event all{.events = event->events & ~uint32_t{EPOLLEXCLUSIVE}, .data = event->data};
    return real::epoll_ctl(epoll, operation, fd, &all);
  }
  const auto connection = descriptors::ring(fd);
  if (connection == nullptr) {
    const int result = real::epoll_ctl(epoll, operation, fd, event);
    if (result == 0) epoll_watches::note(fd, epoll, operation, event);
    return result;
  }
  if (operation != EPOLL_CTL_DEL) connection->watch();
  return real::epoll_ctl(epoll, operation, fd, event);
}
