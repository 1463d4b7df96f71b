// SPDX-License-Identifier: Apache-2.0
#include "client/ring/socket.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "client/ring/handshake.h"
#include "client/ring/spinner.h"

namespace hatrpc::ring {
namespace {

using Clock = std::chrono::steady_clock;

// Returns how many milliseconds are left of a time-out of `timeout_ms` that began at `from`.
int left_ms(Clock::time_point from, int timeout_ms) {
  if (timeout_ms < 0) return kForever;
  const auto gone = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - from);
  return static_cast<int>(std::max<int64_t>(0, timeout_ms - gone.count()));
}

int wait_for(int fd, short events, int interrupter, int timeout_ms) {
  // `interrupter` can be -1: poll(2) ignores a negative descriptor.
  pollfd fds[2] = {{fd, events, 0}, {interrupter, POLLIN, 0}};
  const int ready = poll(fds, 2, timeout_ms);
  // If a signal ended the wait, returns 0, so that the caller checks the ring again.
  if (ready < 0) return errno == EINTR ? 0 : errno;
  if (fds[1].revents != 0) return EINTR;
  return ready == 0 ? EAGAIN : 0;
}

}  // namespace

int Socket::connect(const char* path, int timeout_ms, std::unique_ptr<Socket>& socket) {
  sockaddr_un address{.sun_family = AF_UNIX};
  if (std::strlen(path) >= sizeof address.sun_path) return ENAMETOOLONG;
  std::strcpy(address.sun_path, path);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return errno;
  if (timeout_ms > 0) {
    // connect(2) on a unix socket waits for space in the listener's queue, for at most SO_SNDTIMEO.
    const timeval patience{timeout_ms / 1000, timeout_ms % 1000 * 1000};
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  }
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    const int error = errno;
    close(fd);
    return error;
  }
  return open(Side::kConnector, fd, timeout_ms, socket);
}

int Socket::open(Side side, int fd, int timeout_ms, std::unique_ptr<Socket>& socket,
                 int interrupter) {
  const auto from = Clock::now();
  Handshake handshake(side, fd);
  int error = handshake.step();
  while (error == EAGAIN) {
    error = wait_for(fd, POLLIN, interrupter, left_ms(from, timeout_ms));
    if (error != 0) break;
    error = handshake.step();
  }
  if (error != 0) {
    close(fd);
    return error;
  }
  socket.reset(new Socket(fd, handshake.take_memory(), side));
  return 0;
}

bool Socket::ready(uint32_t what) {
  if (channel_.broken()) return true;
  if (what == kForData) return !channel_.readable().empty() || channel_.at_end();
  return !channel_.writable().empty() || channel_.gone();
}

int Socket::wait(uint32_t what, int timeout_ms, int interrupter) {
  if (ready(what)) return 0;
  if (timeout_ms == 0) {
    channel_.hear();
    return ready(what) ? 0 : EAGAIN;
  }
  const auto limit =
      timeout_ms == kForever ? Spinner::kLimit : std::chrono::milliseconds(timeout_ms);
  Spinner spinner(usual_wait_ns_[what == kForData ? 0 : 1], limit);
  while (spinner.again()) {
    if (ready(what)) return 0;
  }
  if (channel_.has_futex() && sleep_briefly(what, left_ms(spinner.from(), timeout_ms))) return 0;
  int error = 0;
  while (!ready(what) && error == 0) {
    error = sleep(what, left_ms(spinner.from(), timeout_ms), interrupter);
  }
  return error;
}

// Sleeps on the futex for at most kBriefMs. Returns true if the ring is ready. Otherwise the caller
// must sleep on the socket, because only the socket reports that the other side has died, and only
// a sleep on descriptors can be interrupted.
bool Socket::sleep_briefly(uint32_t what, int timeout_ms) {
  constexpr int kBriefMs = 50;
  const int ms = timeout_ms == kForever ? kBriefMs : std::min(kBriefMs, timeout_ms);
  channel_.sleep_briefly(what, std::chrono::milliseconds(ms));
  return ready(what);
}

int Socket::sleep(uint32_t what, int timeout_ms, int interrupter) {
  if (!channel_.may_sleep(what)) return 0;
  ++sleepers_;
  const int error = wait_for(channel_.fd(), POLLIN, interrupter, timeout_ms);
  channel_.stay_awake(what);
  // The reader and the writer can sleep at the same time. Only the thread that wakes last reads the
  // doorbells from the socket: if the first thread read them, it could take the doorbell that must
  // wake the other thread.
  if (--sleepers_ == 0 && error == 0) channel_.hear();
  return error;
}

int Socket::wait_readable(int timeout_ms, int interrupter) {
  return wait(kForData, timeout_ms, interrupter);
}

ssize_t Socket::read(void* into, size_t bytes, int timeout_ms, int interrupter) {
  if (const int error = wait(kForData, timeout_ms, interrupter); error != 0) return -error;
  const auto there = channel_.readable();
  if (channel_.broken()) return -EPROTO;
  const size_t count = std::min(bytes, there.size());
  std::memcpy(into, there.data(), count);
  if (count != 0) channel_.consume(count);
  if (count == 0 && channel_.aborted()) return -ECONNRESET;
  return static_cast<ssize_t>(count);
}

ssize_t Socket::write(const void* from, size_t bytes, int timeout_ms) {
  if (channel_.writes_ended() || channel_.gone()) return -EPIPE;
  if (const int error = wait(kForSpace, timeout_ms, -1); error != 0) return -error;
  channel_.rewind();
  const auto space = channel_.writable(bytes);
  if (channel_.broken()) return -EPROTO;
  if (space.empty()) return -EPIPE;
  const size_t count = std::min(bytes, space.size());
  std::memcpy(space.data(), from, count);
  channel_.publish(count);
  return static_cast<ssize_t>(count);
}

int Socket::write_all(const void* from, size_t bytes, int timeout_ms) {
  const auto* next = static_cast<const std::byte*>(from);
  while (bytes != 0) {
    const ssize_t count = write(next, bytes, timeout_ms);
    if (count < 0) return static_cast<int>(-count);
    next += count;
    bytes -= static_cast<size_t>(count);
  }
  return 0;
}

bool Socket::alive() {
  channel_.hear();
  return !channel_.gone() && !channel_.broken();
}

}  // namespace hatrpc::ring
