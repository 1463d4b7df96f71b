// SPDX-License-Identifier: Apache-2.0
// base/check.h: assertions about what the code itself guarantees. Do not assert anything about
// input (bytes from a socket, a ring, a peer or a file): bad input is an ordinary error.
//
//   CHECK(condition) << details;   active in every build; use it in code off the path of a call
//   DCHECK(condition) << details;  active in all builds except those of the CMake preset
//                                  `optimized`, which makes the packages and the benchmarks
//   reactor.assert_in_loop();      asserts that the calling thread runs the event loop
//
// If the condition is false, the process logs the condition, `details` and a backtrace, and aborts.
// CHECK and DCHECK (and CHECK_EQ, DCHECK_LE, …) come from glog; NDEBUG turns DCHECK off.
#pragma once

#include <glog/logging.h>

#include <atomic>
#include <thread>

namespace hat {

// True if this build uses AddressSanitizer. AddressSanitizer finds a use after free only if the
// memory is really freed, so code that would keep objects for reuse deletes them in such a build.
#if defined(__has_feature)
inline constexpr bool kAddressSanitizer = __has_feature(address_sanitizer);
#elif defined(__SANITIZE_ADDRESS__)
inline constexpr bool kAddressSanitizer = true;
#else
inline constexpr bool kAddressSanitizer = false;
#endif

// Remembers which thread runs an event loop. While no thread runs the loop (during set-up, after
// the loop has ended, in tests that call the iterations one by one), any thread may use the objects
// that belong to the loop.
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
