// SPDX-License-Identifier: Apache-2.0
// client/preload/epoll_watches.h: records which epolls have a TCP socket that may still become a
// ring.
//
// A program may add its socket to an epoll and connect it afterwards. The ring's socket then takes
// the descriptor number, but the epoll's entry belongs to the old socket, so the entry must be
// added again.
#pragma once

#include <sys/epoll.h>

#include <vector>

namespace hatrpc::preload {

struct EpollWatch {
  int epoll;
  epoll_event event;
};

namespace epoll_watches {

void note(int fd, int epoll, int operation, const epoll_event* event);
void forget(int fd);
// Called around a fork, so that the child's copy is complete and its lock is free.
void before_fork();
void after_fork();
// Returns the entries that the kernel still has: a program may have closed the epoll or the socket
// in a way that this library did not see. Must be called before another file takes the descriptor
// number.
std::vector<EpollWatch> of(int fd);

}  // namespace epoll_watches
}  // namespace hatrpc::preload
