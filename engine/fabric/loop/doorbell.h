// SPDX-License-Identifier: Apache-2.0
// engine/fabric/loop/doorbell.h: wakes a process that sleeps in epoll_wait() or poll(). A doorbell
// is a pair of connected sockets. The process keeps one socket, and gives the other socket, the
// handle, to the processes that may ring the doorbell.
//
// An eventfd would not be safe: a process that shares the eventfd can change the flags of its
// descriptor, so that a write by another process blocks. A send() with MSG_DONTWAIT on a socket
// never blocks, whatever the flags are.
#pragma once

#include "base/descriptor.h"
#include "base/result.h"

namespace hat::engine::loop {

class Doorbell {
 public:
  static Result<Doorbell> create();

  int event_fd() const { return own_.get(); }  // readable once the doorbell has been rung
  int handle() const { return given_.get(); }  // the socket for the processes that may ring
  void ring() const;
  void take();  // consumes the rings so far

 private:
  Doorbell(Descriptor own, Descriptor given) : own_(std::move(own)), given_(std::move(given)) {}

  Descriptor own_;
  Descriptor given_;
};

// Rings the doorbell of another process through `handle`, a descriptor that this process sent. Does
// not block and reports no error, even if the descriptor is not the handle of a doorbell.
void ring_by(int handle);

}  // namespace hat::engine::loop
