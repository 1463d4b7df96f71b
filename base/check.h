// SPDX-License-Identifier: Apache-2.0
// base/check.h: assertions of what the code itself guarantees. Bytes from a socket, a ring, a peer
// or a file are never asserted: they are checked, and bad input is an ordinary error.
//
//   CHECK(condition) << details;   in every build; for conditions that are off the path of a call
//   DCHECK(condition) << details;  in every preset but `optimized`, which is packaged and measured
//   owner.assert_in_loop();        that this is the thread of the event loop that owns the object
//
// A condition that does not hold ends the process with its text, `details` and a backtrace.
// CHECK and DCHECK (and CHECK_EQ, DCHECK_LE, …) are glog's; NDEBUG turns DCHECK off.
#pragma once

#include <glog/logging.h>

#include <thread>

namespace hat {

// The thread of an event loop: the one that constructs this object.
class LoopThread {
 public:
  void assert_in_loop() const {
    DCHECK(thread_ == std::this_thread::get_id())
        << "only the thread of this event loop may do this";
  }

 private:
  std::thread::id thread_ = std::this_thread::get_id();
};

}  // namespace hat
