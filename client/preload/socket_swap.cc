// SPDX-License-Identifier: Apache-2.0
#include "client/preload/socket_swap.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>

namespace hatrpc::preload {

ino_t inode_of(int fd) {
  struct stat info {};
  return fstat(fd, &info) == 0 ? info.st_ino : 0;
}

int socket_option(int fd, int name) {
  int value = -1;
  socklen_t bytes = sizeof value;
  return real::getsockopt(fd, SOL_SOCKET, name, &value, &bytes) == 0 ? value : -1;
}

void carry_over_options(int from, int to) {
  for (const int name : {SO_RCVTIMEO, SO_SNDTIMEO}) {
    timeval time{};
    socklen_t bytes = sizeof time;
    if (real::getsockopt(from, SOL_SOCKET, name, &time, &bytes) == 0) {
      real::setsockopt(to, SOL_SOCKET, name, &time, bytes);
    }
  }
  const int keeps = socket_option(from, SO_KEEPALIVE);
  if (keeps > 0) real::setsockopt(to, SOL_SOCKET, SO_KEEPALIVE, &keeps, sizeof keeps);
}

void carry_over_modes(int from, int to, int modes) {
  const int flags =
      (real::fcntl(to, F_GETFL, nullptr) & ~modes) | (real::fcntl(from, F_GETFL, nullptr) & modes);
  real::fcntl(to, F_SETFL, reinterpret_cast<void*>(intptr_t{flags}));
}

bool replace(int fd, int other, const std::vector<EpollWatch>& watches) {
  const int flags = real::fcntl(fd, F_GETFD, nullptr);
  if (flags < 0) return false;
  // An epoll forgets a socket only when its last descriptor is closed, and a listening socket stays
  // open.
  for (EpollWatch watch : watches) real::epoll_ctl(watch.epoll, EPOLL_CTL_DEL, fd, &watch.event);
  if (real::dup3(other, fd, (flags & FD_CLOEXEC) != 0 ? O_CLOEXEC : 0) < 0) return false;
  for (EpollWatch watch : watches) {
    if (real::epoll_ctl(watch.epoll, EPOLL_CTL_ADD, fd, &watch.event) == 0) continue;
    // The kernel rejects EPOLLEXCLUSIVE if `other` is an epoll.
    watch.event.events &= ~uint32_t{EPOLLEXCLUSIVE};
    real::epoll_ctl(watch.epoll, EPOLL_CTL_ADD, fd, &watch.event);
  }
  epoll_watches::forget(fd);
  return true;
}

}  // namespace hatrpc::preload
