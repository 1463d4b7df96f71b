// SPDX-License-Identifier: Apache-2.0
// client/preload/poll_calls.cc: poll, ppoll, select and pselect. A call with no ring among its
// descriptors goes to the C library.
#include <poll.h>
#include <sys/select.h>

#include <cerrno>
#include <chrono>
#include <vector>

#include "client/preload/descriptors.h"
#include "client/preload/poller.h"
#include "client/preload/real.h"

namespace hatrpc::preload {
namespace {

// One of the three sets of descriptors of select(2). A null pointer means an empty set. The set can
// be larger than an fd_set, because programs allocate larger sets themselves.
class Set {
 public:
  explicit Set(fd_set* set) : words_(reinterpret_cast<unsigned long*>(set)) {}
  bool has(int fd) const { return words_ != nullptr && (words_[fd / kBits] >> (fd % kBits) & 1); }
  void set(int fd, bool is) {
    if (words_ == nullptr) return;
    const unsigned long bit = 1UL << (fd % kBits);
    words_[fd / kBits] = is ? words_[fd / kBits] | bit : words_[fd / kBits] & ~bit;
  }

 private:
  static constexpr int kBits = 8 * sizeof(unsigned long);
  unsigned long* words_;
};

constexpr short kSelectIn = POLLRDNORM | POLLRDBAND | POLLIN | POLLHUP | POLLERR;
constexpr short kSelectOut = POLLWRBAND | POLLWRNORM | POLLOUT | POLLERR;

bool has_rings(int count, const Set (&sets)[3]) {
  for (int fd = 0; fd < count; ++fd) {
    if (!descriptors::is_ring(fd)) continue;
    if (sets[0].has(fd) || sets[1].has(fd) || sets[2].has(fd)) return true;
  }
  return false;
}

int select_rings(int count, Set (&sets)[3], const timespec* timeout, const sigset_t* mask) {
  std::vector<pollfd> fds;
  for (int fd = 0; fd < count; ++fd) {
    const short events =
        static_cast<short>((sets[0].has(fd) ? POLLIN : 0) | (sets[1].has(fd) ? POLLOUT : 0) |
                           (sets[2].has(fd) ? POLLPRI : 0));
    if (events != 0) fds.push_back({fd, events, 0});
  }
  if (poll_rings(fds.data(), fds.size(), timeout, mask) < 0) return -1;
  for (const pollfd& each : fds) {
    if ((each.revents & POLLNVAL) == 0) continue;
    errno = EBADF;
    return -1;
  }
  int ready = 0;
  for (const pollfd& each : fds) {
    const short meant[3] = {kSelectIn, kSelectOut, POLLPRI};
    for (int i = 0; i < 3; ++i) {
      const bool is = sets[i].has(each.fd) && (each.revents & meant[i]) != 0;
      sets[i].set(each.fd, is);
      ready += is;
    }
  }
  return ready;
}

int poll_ms(pollfd* fds, nfds_t count, int timeout_ms) {
  const timespec timeout{timeout_ms / 1000, timeout_ms % 1000 * 1'000'000};
  return poll_rings(fds, count, timeout_ms < 0 ? nullptr : &timeout, nullptr);
}

}  // namespace
}  // namespace hatrpc::preload

using namespace hatrpc::preload;

HAT_INTERCEPTED int poll(pollfd* fds, nfds_t count, int timeout_ms) {
  if (!has_rings(fds, count)) return real::poll(fds, count, timeout_ms);
  return poll_ms(fds, count, timeout_ms);
}

HAT_INTERCEPTED int __poll_chk(pollfd* fds, nfds_t count, int timeout_ms, size_t) {
  return poll(fds, count, timeout_ms);
}

HAT_INTERCEPTED int ppoll(pollfd* fds, nfds_t count, const timespec* timeout,
                          const sigset_t* mask) {
  if (!has_rings(fds, count)) return real::ppoll(fds, count, timeout, mask);
  return poll_rings(fds, count, timeout, mask);
}

HAT_INTERCEPTED int __ppoll_chk(pollfd* fds, nfds_t count, const timespec* timeout,
                                const sigset_t* mask, size_t) {
  return ppoll(fds, count, timeout, mask);
}

HAT_INTERCEPTED int select(int count, fd_set* in, fd_set* out, fd_set* other, timeval* timeout) {
  Set sets[3] = {Set(in), Set(out), Set(other)};
  if (!has_rings(count, sets)) return real::select(count, in, out, other, timeout);
  if (timeout == nullptr) return select_rings(count, sets, nullptr, nullptr);
  // As on Linux, select() changes `timeout` to the time that is left.
  using Clock = std::chrono::steady_clock;
  using Microseconds = std::chrono::microseconds;
  const auto from = Clock::now();
  const Microseconds all = std::chrono::seconds(timeout->tv_sec) + Microseconds(timeout->tv_usec);
  const timespec time{timeout->tv_sec + timeout->tv_usec / 1'000'000,
                      timeout->tv_usec % 1'000'000 * 1000};
  const int ready = select_rings(count, sets, &time, nullptr);
  const auto gone = std::chrono::duration_cast<Microseconds>(Clock::now() - from);
  const auto left = std::max(Microseconds::zero(), all - gone);
  *timeout = {left.count() / 1'000'000, left.count() % 1'000'000};
  return ready;
}

HAT_INTERCEPTED int pselect(int count, fd_set* in, fd_set* out, fd_set* other,
                            const timespec* timeout, const sigset_t* mask) {
  Set sets[3] = {Set(in), Set(out), Set(other)};
  if (!has_rings(count, sets)) return real::pselect(count, in, out, other, timeout, mask);
  return select_rings(count, sets, timeout, mask);
}
