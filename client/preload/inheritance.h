// SPDX-License-Identifier: Apache-2.0
// client/preload/inheritance.h: connections that a process hands on to the program that it becomes,
// or starts.
//
// A descriptor without FD_CLOEXEC survives exec(2); the ring's memory would not. So the memory's
// descriptor goes along, and HATRPC_RINGS_OPEN says what is what, a word for each connection:
//
//   INODE/MEMORY/ASKED/DUE/PEER,…     the socket's inode (whatever number it has by then); the
//                                     memory's descriptor; Bells::Counts; the address it is of
//
// Thread   one that is about to exec: also in the child of a fork or a vfork, where nothing may be
//          allocated.
#pragma once

#include <sys/types.h>

namespace hatrpc::preload {

class Connection;

// What the new program gets. The descriptors are there until the object goes: an exec may fail.
class Inheritance {
 public:
  Inheritance();
  ~Inheritance();
  Inheritance(const Inheritance&) = delete;
  Inheritance& operator=(const Inheritance&) = delete;

  bool any() const { return count_ != 0; }
  char* variable() { return text_; }  // NAME=VALUE

 private:
  static constexpr int kMost = 32;  // more are not handed on

  void add(int fd, Connection& connection);

  int count_ = 0;
  ino_t last_ = 0;
  char* end_;
  int memories_[kMost];
  char text_[kMost * 128];
};

// Takes over what the program before this one has handed on.
void inherit();

}  // namespace hatrpc::preload
