// SPDX-License-Identifier: Apache-2.0
// engine/fabric/loop/doorbell.h: what wakes a process that sleeps: one end is its own, the other is
// given to whoever may ring.
//
// It is a pair of sockets, and no eventfd: a socket alone has a write that cannot block whatever
// the descriptor's flags are (MSG_DONTWAIT), and whoever rings could change the flags of an eventfd
// that both share.
#pragma once

#include "base/descriptor.h"
#include "base/result.h"

namespace hat::engine::loop {

class Doorbell {
 public:
  static Result<Doorbell> create();

  int event_fd() const { return own_.get(); }  // readable: it has been rung
  int handle() const { return given_.get(); }  // for others
  void ring() const;
  void take();  // what has been rung so far

 private:
  Doorbell(Descriptor own, Descriptor given) : own_(std::move(own)), given_(std::move(given)) {}

  Descriptor own_;
  Descriptor given_;
};

// By a handle that another process sent: whatever it is in truth, this neither blocks nor fails.
void ring_by(int handle);

}  // namespace hat::engine::loop
