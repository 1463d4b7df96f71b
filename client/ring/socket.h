// SPDX-License-Identifier: Apache-2.0
// client/ring/socket.h: a channel that blocks, with time-outs: what a stream socket's caller
// expects.
//
// Who waits looks for a while, yielding its core between looks, and then sleeps until its bell
// rings. It looks for about as long as such waits took lately, but at most HATRPC_SPIN_US
// microseconds (of the environment; default 1000, 0: not at all); where they take longer, hardly at
// all.
//
// Errors   errno values, negative where a count may be returned. EAGAIN: timed out. EINTR: the
//          interrupter became readable. EPIPE: the other side has gone. ECONNRESET: it gave up in
//          the middle. EPROTO: it broke the ring's rules.
// Thread   one reader and one writer at a time.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>

#include "client/ring/channel.h"

namespace hatrpc::ring {

inline constexpr int kForever = -1;  // a time-out, else in milliseconds

class Socket {
 public:
  // A unix socket that listens there. Also ECONNREFUSED and the like of connect(2).
  static int connect(const char* path, int timeout_ms, std::unique_ptr<Socket>& socket);
  // Takes `fd`, a connection that was accepted or made, also where it fails.
  static int open(Side side, int fd, int timeout_ms, std::unique_ptr<Socket>& socket,
                  int interrupter = -1);

  // What has come, at most `bytes`; 0 at the end. `interrupter`: a descriptor, or -1.
  ssize_t read(void* into, size_t bytes, int timeout_ms, int interrupter = -1);
  // Waits until read() would return something else than EAGAIN.
  int wait_readable(int timeout_ms, int interrupter = -1);
  size_t readable_bytes() { return channel_.readable().size(); }
  // Some of them, at least one.
  ssize_t write(const void* from, size_t bytes, int timeout_ms);
  int write_all(const void* from, size_t bytes, int timeout_ms);
  void end_writes() { channel_.end_writes(); }

  int fd() const { return channel_.fd(); }
  // The other side may still be there.
  bool alive();

 private:
  Socket(int fd, Memory memory, Side side) : channel_(fd, std::move(memory), side) {}
  bool ready(uint32_t what);
  int wait(uint32_t what, int timeout_ms, int interrupter);
  int sleep(uint32_t what, int timeout_ms, int interrupter);

  Channel channel_;
  std::atomic<int> sleepers_ = 0;
  std::chrono::nanoseconds usual_wait_[2]{};  // of the reader, of the writer
};

}  // namespace hatrpc::ring
