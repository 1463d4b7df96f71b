// SPDX-License-Identifier: Apache-2.0
// client/preload/inheritance.h: connections that a process passes on to the program that it becomes
// or starts.
//
// A descriptor without FD_CLOEXEC survives exec(2), but a mapping of the ring's memory does not. So
// the process passes the memory's descriptor too, and HATRPC_RINGS_OPEN lists the connections,
// separated by commas:
//
//   INODE/MEMORY/ASKED/DUE/PEER,…     the socket's inode (its descriptor number may change);
//                                     the memory's descriptor; Doorbells::Counts; the peer's
//                                     address
//
// Thread   the thread that is about to exec; also in the child of a fork or a vfork, where nothing
//          may be allocated.
#pragma once

#include <sys/types.h>

namespace hatrpc::preload {

class Connection;

// The connections that the new program receives. Their memory's descriptors stay open until the
// object is destroyed, because an exec may fail.
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

// Takes over the connections that the program before this one passed on.
void inherit();

}  // namespace hatrpc::preload
