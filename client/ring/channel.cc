// SPDX-License-Identifier: Apache-2.0
#include "client/ring/channel.h"

#include <linux/futex.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace hatrpc::ring {

namespace {

// Wakes the sleepers on the futex, at most one reader and one writer: a hostile process could have
// any number of threads that sleep there.
void wake(std::atomic<uint32_t>& waits) {
  syscall(SYS_futex, &waits, FUTEX_WAKE, 2, nullptr, nullptr, 0);
}

}  // namespace

Channel::Channel(int socket, std::shared_ptr<const Memory> memory, Side side)
    : socket_(socket), memory_(std::move(memory)), side_(side) {}

Channel::~Channel() {
  close(socket_);
  // A side that sleeps on the futex does not see the end of the socket before it wakes.
  std::atomic<uint32_t>& waits = theirs().waits;
  constexpr uint32_t kByFutexBits = (kForData | kForSpace) << kByFutex;
  if ((waits.fetch_and(~kByFutexBits) & kByFutexBits) != 0) wake(waits);
}

std::span<const std::byte> Channel::readable() {
  if (broken()) return {};
  const uint64_t written = theirs().written.load(std::memory_order_acquire);
  const uint64_t there = written - read_;
  if (there > memory_->ring_bytes() || written - consumed_ > memory_->ring_bytes()) {
    broken_ = true;
    return {};
  }
  return {memory_->ring(other(side_)) + offset(read_), there};
}

void Channel::release(size_t bytes) {
  assert(bytes <= read_ - consumed_);  // otherwise the other side could overwrite unread bytes
  consumed_ += bytes;
  mine().consumed.store(consumed_, std::memory_order_release);
  ring_for(kForSpace);
}

bool Channel::at_end() {
  if (!gone() && theirs().ended.load(std::memory_order_acquire) == 0) return false;
  return readable().empty();  // checked after `ended` was loaded, so no byte is missed
}

std::span<std::byte> Channel::writable(size_t wanted) {
  if (broken()) return {};
  uint64_t used = written_ - their_consumed_;
  if (memory_->ring_bytes() - used < wanted) {
    const uint64_t consumed = theirs().consumed.load(std::memory_order_acquire);
    // The other side can consume at most what it had not consumed before.
    if (consumed - their_consumed_ > used) {
      broken_ = true;
      return {};
    }
    used = written_ - consumed;
    their_consumed_ = consumed;
  }
  return {memory_->ring(side_) + offset(written_), memory_->ring_bytes() - used};
}

void Channel::publish(size_t bytes) {
  written_ += bytes;
  assert(written_ - their_consumed_ <= memory_->ring_bytes());
  mine().written.store(written_, std::memory_order_release);
  ring_for(kForData);
}

void Channel::end_writes(End how) {
  if (ended_) return;
  ended_ = true;
  mine().ended.store(static_cast<uint32_t>(how), std::memory_order_release);
  ring_for(kForData);
}

void Channel::ring_for(uint32_t what) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  std::atomic<uint32_t>& waits = theirs().waits;
  const uint32_t by_futex = what << kByFutex;
  if ((waits.load(std::memory_order_relaxed) & (what | by_futex)) == 0) return;
  const uint32_t before = waits.fetch_and(~(what | by_futex));
  if ((before & by_futex) != 0) wake(waits);
  if ((before & what) == 0) return;
  // Ignores errors of send(2): a full socket already contains doorbells, and hear() finds out if
  // the socket is closed.
  const char doorbell = 0;
  [[maybe_unused]] const auto sent =
      send(socket_, &doorbell, sizeof doorbell, MSG_DONTWAIT | MSG_NOSIGNAL);
}

uint32_t Channel::arm(uint32_t what) {
  const uint32_t before = mine().waits.fetch_or(what, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return what & ~before;
}

void Channel::sleep_briefly(uint32_t what, std::chrono::nanoseconds time) {
  const uint32_t bits = what << kByFutex;
  std::atomic<uint32_t>& waits = mine().waits;
  const uint32_t armed = waits.fetch_or(bits) | bits;
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (!has(what)) {
    const timespec limit{time.count() / 1'000'000'000, time.count() % 1'000'000'000};
    syscall(SYS_futex, &waits, FUTEX_WAIT, armed, &limit, nullptr, 0);
  }
  waits.fetch_and(~bits, std::memory_order_relaxed);
}

bool Channel::may_sleep(uint32_t what) {
  arm(what);
  if (!has(what)) return true;
  stay_awake(what);
  return false;
}

bool Channel::has(uint32_t what) {
  const bool data = (what & kForData) != 0 && (!readable().empty() || at_end());
  const bool space = (what & kForSpace) != 0 && (!writable().empty() || gone());
  return data || space || broken();
}

void Channel::resync_reads() {
  read_ = consumed_ = mine().consumed.load(std::memory_order_relaxed);
}

void Channel::resync_writes() {
  written_ = mine().written.load(std::memory_order_relaxed);
  ended_ = mine().ended.load(std::memory_order_relaxed) != 0;
  their_consumed_ = written_ - memory_->ring_bytes();  // makes writable() load the counter
}

uint32_t Channel::stay_awake(uint32_t what) {
  return mine().waits.fetch_and(~what, std::memory_order_relaxed) & what;
}

size_t Channel::hear(size_t doorbells_max) {
  char doorbells[64];
  const ssize_t heard =
      recv(socket_, doorbells, std::min(doorbells_max, sizeof doorbells), MSG_DONTWAIT);
  if (heard > 0) return static_cast<size_t>(heard);
  if (heard == 0 || (errno != EAGAIN && errno != EINTR)) gone_ = true;
  return 0;
}

}  // namespace hatrpc::ring
