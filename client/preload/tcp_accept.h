// SPDX-License-Identifier: Apache-2.0
// client/preload/tcp_accept.h: accept(2) on a TCP socket in steps that do not block, so that a
// thread can wait for other connections at the same time.
//
// accept4(2) has no flag for a single call that must not block. O_NONBLOCK is not such a flag: it
// belongs to the socket, and a process can share the socket with processes that expect a blocking
// accept(2), such as the children that a server has forked before listen(2). Therefore this code
// sets O_NONBLOCK only after poll(2) has reported a connection, and clears it right after
// accept4(2).
//
// A process and all of its forked children exclude each other with a lock in shared memory.
// Meanwhile a blocking accept(2) in a process that does not use accept_now() can fail with EAGAIN.
// If this library is loaded there, accept() below notices this and begins anew. Without the
// library, for example after an exec, the program gets EAGAIN.
//
// Errors   as of accept4(2): -1 and errno.
// Thread   any.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <optional>

namespace hatrpc::preload::tcp {

// Accepts a connection of the listening socket `fd` if one is there. Fails with EAGAIN if not, even
// if the socket is blocking.
int accept_now(int fd, sockaddr* address, socklen_t* bytes, int flags);
// Accepts a connection as accept4(2) does, from a socket that another process can use with
// accept_now(). Does not return EAGAIN because of that other process.
int accept(int fd, sockaddr* address, socklen_t* bytes, int flags);

// Returns whether the program has made the socket non-blocking; accept_now() has no influence.
bool is_nonblocking(int fd);
// Sets or clears O_NONBLOCK for all processes that share the socket.
void set_nonblocking(int fd, bool is);

// The time-out of a blocking accept(2).
class Patience {
 public:
  // Waits until `fd` is readable, at most for SO_RCVTIMEO of the socket `tcp`, counted from the
  // first wait. Returns 0, EAGAIN after the time-out, or another errno value of poll(2).
  int wait(int fd, int tcp);

 private:
  std::optional<int64_t> until_ms_;  // -1 if there is no time-out
};

}  // namespace hatrpc::preload::tcp
