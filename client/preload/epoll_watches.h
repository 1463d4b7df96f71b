// SPDX-License-Identifier: Apache-2.0
// client/preload/epoll_watches.h: which epolls have a TCP socket that may yet become a ring.
//
// A program may put its socket into an epoll and connect it then. The ring takes the descriptor,
// but the epoll's entry belongs to the socket that was there: it is made anew.
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
// Around a fork: the child's copy is whole, and its lock free.
void before_fork();
void after_fork();
// Those that the kernel still has: a program may have closed the epoll, or the socket, in a way
// that nobody told of. To be asked before another file takes the descriptor's place.
std::vector<EpollWatch> of(int fd);

}  // namespace epoll_watches
}  // namespace hatrpc::preload
