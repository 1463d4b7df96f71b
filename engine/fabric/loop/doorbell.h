// SPDX-License-Identifier: Apache-2.0
// engine/fabric/loop/doorbell.h: wakes a process that sleeps. The process keeps one end, and gives
// the other end to the processes that may ring.
//
// A doorbell is a pair of sockets and not an eventfd. A process that may ring could change the
// flags of a shared eventfd, so that a write to it blocks. Only a socket has a write that does not
// block whatever the descriptor's flags are (MSG_DONTWAIT).
#pragma once

#include "base/descriptor.h"
#include "base/result.h"

namespace hat::engine::loop {

class Doorbell {
 public:
  static Result<Doorbell> create();

  int event_fd() const { return own_.get(); }  // readable once the doorbell has been rung
  int handle() const { return given_.get(); }  // the end for those that may ring
  void ring() const;
  void take();  // consumes the rings so far

 private:
  Doorbell(Descriptor own, Descriptor given) : own_(std::move(own)), given_(std::move(given)) {}

  Descriptor own_;
  Descriptor given_;
};

// Rings a doorbell by the handle that another process sent. Neither blocks nor fails, whatever kind
// of descriptor the handle really is.
void ring_by(int handle);

}  // namespace hat::engine::loop
