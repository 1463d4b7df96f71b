// SPDX-License-Identifier: Apache-2.0
// client/preload/epoll_watches.h: records which epolls watch a TCP socket, as long as connect(2) or
// listen(2) can still replace the TCP socket.
//
// A program can add a TCP socket to an epoll before it connects the socket. When the ring's unix
// socket then takes the descriptor number, the epoll's entry still belongs to the TCP socket.
// Therefore this library must add the entry again for the unix socket. The same applies to a socket
// before listen(2).
#pragma once

#include <sys/epoll.h>

#include <vector>

namespace hatrpc::preload {

struct EpollWatch {
  int epoll;
  epoll_event event;
};

namespace epoll_watches {

// Records a successful call epoll_ctl(epoll, operation, fd, event) if `fd` is a TCP socket.
void note(int fd, int epoll, int operation, const epoll_event* event);
// Drops the records about `fd`.
void forget(int fd);
// Takes the lock before a fork, so that the child's copy of the records is consistent.
void before_fork();
// Releases the lock after a fork, in the parent and in the child.
void after_fork();
// Returns the recorded epolls that still watch `fd`. Asks the kernel about each of them, because
// the program can have closed the epoll or the socket in a way that this library did not see. Call
// this before another socket takes the descriptor number.
std::vector<EpollWatch> of(int fd);

}  // namespace epoll_watches
}  // namespace hatrpc::preload
