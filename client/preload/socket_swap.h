// SPDX-License-Identifier: Apache-2.0
// client/preload/socket_swap.h: puts another file under the descriptor number of the program's TCP
// socket, and copies the settings that the program has made.
//
// Errors   -1 and errno, or false and errno, as of the system calls.
#pragma once

#include <sys/types.h>

#include <vector>

#include "client/preload/epoll_watches.h"
#include "client/preload/real.h"

namespace hatrpc::preload {

// A descriptor that is closed at the end of its scope.
struct Held {
  int fd;
  ~Held() {
    if (fd >= 0) real::close(fd);
  }
};

// Returns the inode of the file under `fd`, which identifies a socket; or 0.
ino_t inode_of(int fd);
// Returns the value of an option of level SOL_SOCKET, or -1.
int socket_option(int fd, int name);
// Copies the time-outs and SO_KEEPALIVE, which the program has set on socket `from`, to socket
// `to`.
void carry_over_options(int from, int to);
// Copies the modes of F_SETFL in `modes` (such as O_NONBLOCK) from `from` to `to`.
void carry_over_modes(int from, int to, int modes);
// Makes the program's descriptor number `fd` refer to the same file as `other`, instead of its TCP
// socket. `fd` keeps FD_CLOEXEC. Adds the file to the epolls that watched the TCP socket.
bool replace(int fd, int other, const std::vector<EpollWatch>& watches);

}  // namespace hatrpc::preload
