// SPDX-License-Identifier: Apache-2.0
// client/preload/inheritance.h: passes the connections of a process to the program that the process
// executes with exec(2) or starts with posix_spawn(3).
//
// A socket without FD_CLOEXEC stays open across exec(2), but the mapping of the ring's memory does
// not. So the process also passes a descriptor of the memory, and lists the connections, separated
// by commas, in the environment variable HATRPC_RINGS_OPEN:
//
//   INODE/MEMORY/ASKED/DUE/SIDE/SERVER,…
//
//   INODE        the inode of the socket, which identifies the socket even if its descriptor number
//                changes
//   MEMORY       the descriptor of the ring's memory
//   ASKED, DUE   the values of Doorbells::Counts
//   SIDE         0 if the program connected, 1 if it accepted the connection (ring::Side)
//   SERVER       the address to which the program connected, or at which it accepted
//
// A connection whose handshake is not complete is not passed on. A listening socket is passed on as
// the TCP socket that it was before listen(2): the new program accepts connections over TCP there.
//
// Thread   the thread that calls exec(2). This code must not allocate memory, because it also runs
//          in the child of a fork or a vfork.
#pragma once

#include <sys/types.h>

namespace hatrpc::preload {

class Connection;

// The connections that the new program receives. The constructor opens descriptors of the rings'
// memory, and the destructor closes them. The destructor runs after posix_spawn(3), or after an
// exec(2) that has failed; a successful exec(2) does not return.
class Inheritance {
 public:
  Inheritance();
  ~Inheritance();
  Inheritance(const Inheritance&) = delete;
  Inheritance& operator=(const Inheritance&) = delete;

  bool any() const { return count_ != 0; }
  char* variable() { return text_; }  // NAME=VALUE

 private:
  static constexpr int kMost = 32;  // further connections are not passed on

  void add(int fd, Connection& connection);

  int count_ = 0;
  ino_t last_ = 0;
  char* end_;
  int memories_[kMost];
  char text_[kMost * 128];
};

// Takes over the connections that HATRPC_RINGS_OPEN lists. Called once, when the program starts.
void inherit();

}  // namespace hatrpc::preload
