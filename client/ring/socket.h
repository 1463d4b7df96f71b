// SPDX-License-Identifier: Apache-2.0
// client/ring/socket.h: a ring channel that blocks, with time-outs, like a stream socket.
//
// A thread that waits first spins, yielding its core between polls, and then sleeps until its
// doorbell rings. It spins for about twice as long as recent waits took, but at most HATRPC_SPIN_US
// microseconds (environment; default 1000, 0: not at all). If recent waits took longer than that,
// it spins for at most 50 µs.
//
// Errors   errno values, negative if a count may be returned. EAGAIN: timed out. EINTR: the
//          interrupter became readable. EPIPE: the other side has gone. ECONNRESET: the other side
//          gave up in the middle. EPROTO: the other side broke the ring's rules.
// Thread   one reader and one writer at a time.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>

#include "client/ring/channel.h"

namespace hatrpc::ring {

inline constexpr int kForever = -1;  // a time-out; other values are in milliseconds

class Socket {
 public:
  // Connects to the unix socket that listens at `path`. Also returns errors of connect(2), such as
  // ECONNREFUSED.
  static int connect(const char* path, int timeout_ms, std::unique_ptr<Socket>& socket);
  // Runs the handshake on `fd`, an accepted or connected socket. Takes ownership of `fd`, also if
  // it fails.
  static int open(Side side, int fd, int timeout_ms, std::unique_ptr<Socket>& socket,
                  int interrupter = -1);

  // Waits up to `timeout_ms` for bytes, and reads at most `bytes` of those that have arrived.
  // Returns 0 at the end. If `interrupter` is a descriptor, the wait ends with EINTR when that
  // descriptor becomes readable; -1 means none.
  ssize_t read(void* into, size_t bytes, int timeout_ms, int interrupter = -1);
  // Waits until read() would return something other than EAGAIN.
  int wait_readable(int timeout_ms, int interrupter = -1);
  size_t readable_bytes() { return channel_.readable().size(); }
  // Writes some of the bytes, at least one.
  ssize_t write(const void* from, size_t bytes, int timeout_ms);
  int write_all(const void* from, size_t bytes, int timeout_ms);
  void end_writes() { channel_.end_writes(); }

  int fd() const { return channel_.fd(); }
  // Returns false once the other side is known to have gone or to have broken the ring's rules.
  bool alive();

 private:
  Socket(int fd, Memory memory, Side side) : channel_(fd, std::move(memory), side) {}
  bool ready(uint32_t what);
  int wait(uint32_t what, int timeout_ms, int interrupter);
  int sleep(uint32_t what, int timeout_ms, int interrupter);

  Channel channel_;
  std::atomic<int> sleepers_ = 0;
  // A moving average of how long this side waited: [0] for data, when it reads; [1] for space, when
  // it writes.
  std::chrono::nanoseconds usual_wait_[2]{};
};

}  // namespace hatrpc::ring
