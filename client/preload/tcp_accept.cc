// SPDX-License-Identifier: Apache-2.0
#include "client/preload/tcp_accept.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/time.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <limits>
#include <new>

#include "client/preload/clock.h"
#include "client/preload/descriptors.h"
#include "client/preload/fork_shared.h"
#include "client/preload/real.h"
#include "client/preload/rules.h"
#include "client/preload/socket_swap.h"

namespace hatrpc::preload::tcp {
namespace {

struct State {
  pthread_mutex_t mutex;
  // The inode of the socket for which a process has set O_NONBLOCK and not cleared it yet, or 0. A
  // process that is killed between these two steps leaves the inode here, and the next one clears
  // O_NONBLOCK.
  ino_t changed;
};

State unshared{};  // used if there is no memory that forked children share
State* state = &unshared;

// Runs before main(): the children that a server forks before listen(2) must share the memory.
__attribute__((constructor)) void share_state() {
  if (std::getenv(kListenVariable) != nullptr) {
    try {
      state = &**new ForkShared<State>;  // never destroyed: threads can run while the process exits
    } catch (const std::bad_alloc&) {
    }
  }
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
  pthread_mutex_init(&state->mutex, &attributes);
  pthread_mutexattr_destroy(&attributes);
}

// The lock, and the flags of a socket as the program has set them.
class Flags {
 public:
  explicit Flags(int fd) : fd_(fd) {
    const int locked = pthread_mutex_lock(&state->mutex);
    if (locked == EOWNERDEAD) pthread_mutex_consistent(&state->mutex);
    // A signal handler that calls accept(2) or exec(2) can have interrupted the owner of the lock.
    owns_ = locked != EDEADLK;
    flags_ = real::fcntl(fd, F_GETFL, nullptr);
    if (state->changed != 0 && state->changed == inode_of(fd)) {
      flags_ &= ~O_NONBLOCK;
      if (owns_) write();
    }
  }
  ~Flags() {
    if (is_changed_) write();
    if (owns_) pthread_mutex_unlock(&state->mutex);
  }
  Flags(const Flags&) = delete;
  Flags& operator=(const Flags&) = delete;

  bool is_nonblocking() const { return (flags_ & O_NONBLOCK) != 0; }
  void set_nonblocking(bool is) {
    if (is == is_nonblocking()) return;
    flags_ ^= O_NONBLOCK;
    write();
  }
  // Sets O_NONBLOCK for the life of this object.
  void disable_blocking() {
    if (is_nonblocking() || !owns_) return;
    is_changed_ = true;
    state->changed = inode_of(fd_);
    set(flags_ | O_NONBLOCK);
  }

 private:
  void set(int flags) { real::fcntl(fd_, F_SETFL, reinterpret_cast<void*>(intptr_t{flags})); }
  void write() {
    set(flags_);
    state->changed = 0;
  }

  const int fd_;
  int flags_;
  bool owns_;
  bool is_changed_ = false;
};

// Returns the SO_RCVTIMEO of the socket in milliseconds, or -1 if none is set.
int64_t receive_timeout_ms(int fd) {
  timeval patience{};
  socklen_t bytes = sizeof patience;
  real::getsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, &bytes);
  if (patience.tv_sec == 0 && patience.tv_usec == 0) return -1;
  constexpr int64_t kSecondsMax = 1'000'000'000;  // the kernel's limit would overflow in ms
  return std::min<int64_t>(patience.tv_sec, kSecondsMax) * 1000 + (patience.tv_usec + 999) / 1000;
}

// Returns true if O_NONBLOCK is not only set for the moment of another process's accept_now(). If
// that process does not share the lock, only a wait can show this; one wait for each socket.
bool stays_nonblocking(int fd) {
  constexpr int kChecks = 5;
  constinit static std::atomic<ino_t> known{0};
  for (int i = 0; i < kChecks; ++i) {
    if (!is_nonblocking(fd)) return false;
    if (known.load(std::memory_order_relaxed) == inode_of(fd)) return true;
    real::poll(nullptr, 0, 1);
  }
  known.store(inode_of(fd), std::memory_order_relaxed);
  return true;
}

}  // namespace

int accept_now(int fd, sockaddr* address, socklen_t* bytes, int flags) {
  pollfd connection{fd, POLLIN, 0};
  if (real::poll(&connection, 1, 0) <= 0) {
    errno = EAGAIN;
    return -1;
  }
  Flags socket(fd);
  socket.disable_blocking();
  const int made = real::accept4(fd, address, bytes, flags);
  if (made >= 0) descriptors::forget(made);
  return made;
}

int accept(int fd, sockaddr* address, socklen_t* bytes, int flags) {
  const int64_t from_ms = now_ms();
  while (true) {
    const int made = real::accept4(fd, address, bytes, flags);
    if (made >= 0) descriptors::forget(made);
    if (made >= 0 || errno != EAGAIN) return made;
    const int64_t timeout_ms = receive_timeout_ms(fd);
    const bool is_late = timeout_ms >= 0 && now_ms() - from_ms >= timeout_ms;
    if (!is_late && !stays_nonblocking(fd)) continue;
    errno = EAGAIN;
    return -1;
  }
}

bool is_nonblocking(int fd) { return Flags(fd).is_nonblocking(); }
void set_nonblocking(int fd, bool is) { Flags(fd).set_nonblocking(is); }

int Patience::wait(int fd, int tcp) {
  if (!until_ms_) {
    const int64_t timeout_ms = receive_timeout_ms(tcp);
    until_ms_ = timeout_ms < 0 ? -1 : now_ms() + timeout_ms;
  }
  int64_t left_ms = -1;
  if (*until_ms_ >= 0) {
    left_ms = std::clamp<int64_t>(*until_ms_ - now_ms(), 0, std::numeric_limits<int>::max());
  }
  pollfd connection{fd, POLLIN, 0};
  const int ready = real::poll(&connection, 1, static_cast<int>(left_ms));
  if (ready < 0) return errno;
  return ready == 0 && now_ms() >= *until_ms_ ? EAGAIN : 0;
}

}  // namespace hatrpc::preload::tcp
