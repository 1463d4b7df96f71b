// SPDX-License-Identifier: Apache-2.0
#include "client/preload/poller.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "client/preload/connection.h"
#include "client/preload/descriptors.h"
#include "client/preload/real.h"
#include "client/ring/spinner.h"

namespace hatrpc::preload {
namespace {

using Clock = std::chrono::steady_clock;
using Duration = std::chrono::nanoseconds;

constexpr Duration kNap = std::chrono::milliseconds(1);
// While a thread polls rings without sleeping, it polls other descriptors at most once in this
// time, because that costs a system call. A worker of hatrpcd uses the same time.
constexpr Duration kAskInterval = std::chrono::microseconds(20);
constexpr short kIn = POLLIN | POLLRDNORM | POLLRDHUP;
constexpr short kOut = POLLOUT | POLLWRNORM;

class Poller {
 public:
  Poller(pollfd* fds, nfds_t count, const timespec* timeout, const sigset_t* mask)
      : fds_(fds), count_(count), mask_(mask), native_(fds, fds + count), rings_(count) {
    for (nfds_t i = 0; i < count; ++i) {
      rings_[i] = descriptors::ring(fds[i].fd);
      native_[i].revents = 0;
      if (!rings_[i]) {
        others_.push_back(native_[i]);
      } else if (first_ring_ == nullptr) {
        first_ring_ = rings_[i].get();
      }
    }
    if (timeout != nullptr) {
      timeout_ = std::chrono::seconds(timeout->tv_sec) + Duration(timeout->tv_nsec);
    }
  }

  int run();

 private:
  int poll_once();
  bool spin(ring::Spinner& spinner);
  bool others_ready();
  bool may_sleep();
  std::optional<Duration> left() const;
  int ask_kernel(std::optional<Duration> timeout);
  int merge();

  pollfd* const fds_;
  const nfds_t count_;
  const sigset_t* const mask_;
  std::vector<pollfd> native_;
  std::vector<std::shared_ptr<Connection>> rings_;  // null for a descriptor that is not a ring
  Connection* first_ring_ = nullptr;                // null if another thread has closed all rings
  std::vector<pollfd> others_;  // the descriptors that are not rings, as in `native_`
  Clock::time_point others_polled_{};
  bool naps_ = false;
  std::optional<Duration> timeout_;
  const Clock::time_point from_ = Clock::now();
};

// Polls the rings, stores their events in `fds_`, and returns how many rings are ready.
int Poller::poll_once() {
  int ready = 0;
  for (nfds_t i = 0; i < count_; ++i) {
    if (!rings_[i]) continue;
    fds_[i].revents = rings_[i]->ready(fds_[i].events);
    ready += fds_[i].revents != 0;
  }
  return ready;
}

// Polls all descriptors for a bounded time without sleeping. Returns true as soon as one is ready,
// or false after that time.
bool Poller::spin(ring::Spinner& spinner) {
  if (others_ready()) return true;
  while (spinner.again()) {
    if (poll_once() != 0 || others_ready()) return true;
  }
  return false;
}

// Returns true if a descriptor that is not a ring is ready. Returns false without a system call if
// less than kAskInterval has passed since the last one.
bool Poller::others_ready() {
  if (others_.empty()) return false;
  const auto now = Clock::now();
  if (now - others_polled_ < kAskInterval) return false;
  others_polled_ = now;
  return real::poll(others_.data(), others_.size(), 0) > 0;
}

// Prepares a sleep: asks the other sides of the rings for doorbells, and sets the events of their
// sockets for which ppoll(2) will wait. Returns false if a ring is ready, so that the poller must
// not sleep.
bool Poller::may_sleep() {
  naps_ = false;
  for (nfds_t i = 0; i < count_; ++i) {
    if (!rings_[i]) continue;
    const bool woken = (native_[i].revents & POLLIN) != 0;
    if (!rings_[i]->may_sleep(fds_[i].events, woken)) return false;
    native_[i].events = (fds_[i].events & kIn) != 0 ? POLLIN | POLLRDHUP : POLLRDHUP;
    // If the caller waits for space in a ring, the poller sleeps for short times ("naps"). It does
    // not wait for a doorbell, because another thread, which waits for data, can read the doorbell.
    if ((fds_[i].events & kOut) != 0) naps_ = true;
  }
  return true;
}

std::optional<Duration> Poller::left() const {
  if (!timeout_) return naps_ ? std::optional(kNap) : std::nullopt;
  const Duration left = std::max(Duration::zero(), *timeout_ - (Clock::now() - from_));
  return naps_ ? std::min(left, kNap) : left;
}

int Poller::ask_kernel(std::optional<Duration> timeout) {
  timespec time{};
  if (timeout) time = {timeout->count() / 1'000'000'000, timeout->count() % 1'000'000'000};
  return real::ppoll(native_.data(), count_, timeout ? &time : nullptr, mask_);
}

// Stores the events of all descriptors in `fds_`: for a ring from its state in shared memory, for
// other descriptors from the kernel. Returns how many descriptors are ready.
int Poller::merge() {
  int ready = 0;
  for (nfds_t i = 0; i < count_; ++i) {
    const short said = native_[i].revents;
    if (!rings_[i] || (said & POLLNVAL) != 0) {
      fds_[i].revents = said;
    } else {
      rings_[i]->note(said);
      fds_[i].revents = rings_[i]->ready(fds_[i].events);
    }
    ready += fds_[i].revents != 0;
  }
  return ready;
}

int Poller::run() {
  // Measures the whole wait, also its sleep, because the next wait polls for a time that depends on
  // how long waits take.
  std::optional<ring::Spinner> spinner;
  while (true) {
    bool ready = poll_once() != 0;
    if (!ready && !spinner && first_ring_ != nullptr && timeout_ != Duration::zero()) {
      spinner.emplace(first_ring_->usual_wait_ns(), timeout_.value_or(ring::Spinner::kLimit));
      ready = spin(*spinner);
    }
    ready = ready || !may_sleep();
    const auto timeout = ready ? Duration::zero() : left();
    const int said = ask_kernel(timeout);
    if (said < 0) return ready && errno == EINTR ? poll_once() : -1;
    if (const int all = merge(); all != 0 || ready) {
      if (all != 0) return all;
      continue;  // another thread has read the data in the meantime
    }
    if (timeout_ && Clock::now() - from_ >= *timeout_) return 0;
  }
}

}  // namespace

bool has_rings(pollfd* fds, nfds_t count) {
  return std::any_of(fds, fds + count,
                     [](const pollfd& each) { return descriptors::is_ring(each.fd); });
}

int poll_rings(pollfd* fds, nfds_t count, const timespec* timeout, const sigset_t* mask) {
  return Poller(fds, count, timeout, mask).run();
}

}  // namespace hatrpc::preload
