// SPDX-License-Identifier: Apache-2.0
// base/check.h: assertions of what the code itself guarantees. Bytes from a socket, a ring, a peer
// or a file are never asserted: they are checked, and bad input is an ordinary error.
//
//   CHECK(condition) << details;   in every build; for conditions that are off the path of a call
//   DCHECK(condition) << details;  in every preset but `optimized`, which is packaged and measured
//   reactor.assert_in_loop();      that this is the thread that runs the event loop
//
// A condition that does not hold ends the process with its text, `details` and a backtrace.
// CHECK and DCHECK (and CHECK_EQ, DCHECK_LE, …) are glog's; NDEBUG turns DCHECK off.
#pragma once

#include <glog/logging.h>

#include <atomic>
#include <thread>

namespace hat {

// Whether AddressSanitizer watches this build. It cannot see that memory is used after its end if
// the memory was kept for reuse instead of deleted.
#if defined(__has_feature)
inline constexpr bool kAddressSanitizer = __has_feature(address_sanitizer);
#elif defined(__SANITIZE_ADDRESS__)
inline constexpr bool kAddressSanitizer = true;
#else
inline constexpr bool kAddressSanitizer = false;
#endif

// The thread that runs an event loop. While no thread does, as during set-up, at the end and in
// tests that drive the loop by hand, any thread may use what belongs to the loop.
class LoopThread {
 public:
  void enter() {
    DCHECK(thread_.load() == std::thread::id()) << "another thread runs this event loop";
    thread_ = std::this_thread::get_id();
  }
  void leave() { thread_ = std::thread::id(); }
  void assert_in_loop() const {
    DCHECK(thread_.load() == std::thread::id() || thread_.load() == std::this_thread::get_id())
        << "only the thread that runs this event loop may do this";
  }

 private:
  std::atomic<std::thread::id> thread_{std::thread::id()};
};

}  // namespace hat
