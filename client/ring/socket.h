// SPDX-License-Identifier: Apache-2.0
// client/ring/socket.h: a connection over rings with blocking reads and writes and with time-outs,
// like a stream socket.
//
// A thread that waits first polls the ring, and yields its core between polls (spinner.h). Then it
// sleeps, for up to 50 ms on a futex in the shared memory, and after that until the other side
// sends a doorbell. docs/waiting.md has the reasons.
//
// Errors   errno values; negative from functions that return a count. EAGAIN: timed out. EINTR: the
//          interrupter became readable. EPIPE: the other side has gone. ECONNRESET: the other side
//          gave up before it had written everything. EPROTO: the other side violated the protocol.
// Thread   one reader and one writer at a time.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>

#include "client/ring/channel.h"

namespace hatrpc::ring {

inline constexpr int kForever = -1;  // no time-out; other values of `timeout_ms` are milliseconds

class Socket {
 public:
  // Connects to the unix socket that listens at `path`, and performs the handshake. Returns 0 or an
  // errno value; the value can come from connect(2), such as ECONNREFUSED.
  static int connect(const char* path, int timeout_ms, std::unique_ptr<Socket>& socket);
  // Performs the handshake on `fd`, an accepted or connected socket. Returns 0 or an errno value.
  // Takes ownership of `fd`, even on failure.
  static int open(Side side, int fd, int timeout_ms, std::unique_ptr<Socket>& socket,
                  int interrupter = -1);

  // Waits up to `timeout_ms` for bytes, and reads those that have arrived, at most `bytes` of them.
  // Returns the number of bytes read, 0 at the end of the stream, or a negative errno value. The
  // value is -EINTR if the descriptor `interrupter` (-1: none) becomes readable during the wait.
  ssize_t read(void* into, size_t bytes, int timeout_ms, int interrupter = -1);
  // Waits until read() would return bytes, the end or an error. Returns 0 or an errno value.
  int wait_readable(int timeout_ms, int interrupter = -1);
  size_t readable_bytes() { return channel_.readable().size(); }
  // Writes as many of the `bytes` bytes as the ring has space for; waits up to `timeout_ms` for
  // space if the ring is full. Returns the number of bytes written, or a negative errno value.
  ssize_t write(const void* from, size_t bytes, int timeout_ms);
  // Writes all bytes; `timeout_ms` limits each wait for space. Returns 0 or an errno value.
  int write_all(const void* from, size_t bytes, int timeout_ms);
  void end_writes() { channel_.end_writes(); }

  int fd() const { return channel_.fd(); }
  // Returns false if the other side has gone or has violated the protocol.
  bool alive();

 private:
  Socket(int fd, Memory memory, Side side) : channel_(fd, std::move(memory), side) {}
  bool ready(uint32_t what);
  int wait(uint32_t what, int timeout_ms, int interrupter);
  bool sleep_briefly(uint32_t what, int timeout_ms);
  int sleep(uint32_t what, int timeout_ms, int interrupter);

  Channel channel_;
  std::atomic<int> sleepers_ = 0;
  // Moving averages of how long this side waited, in nanoseconds: [0] for data to read, [1] for
  // space to write.
  std::atomic<int64_t> usual_wait_ns_[2]{};
};

}  // namespace hatrpc::ring
