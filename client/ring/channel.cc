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
    : theirs_(memory->control().sides[static_cast<size_t>(other(side))]),
      their_ring_(memory->ring(other(side))),
      mine_(memory->control().sides[static_cast<size_t>(side)]),
      my_ring_(memory->ring(side)),
      ring_bytes_(memory->ring_bytes()),
      rewinds_(memory->control().version >= kVersionOfOrigin),
      socket_(socket),
      memory_(std::move(memory)) {}

Channel::~Channel() {
  close(socket_);
  // A side that sleeps on the futex does not see the end of the socket before it wakes.
  std::atomic<uint32_t>& waits = theirs_.waits;
  constexpr uint32_t kByFutexBits = (kForData | kForSpace) << kByFutex;
  if ((waits.fetch_and(~kByFutexBits) & kByFutexBits) != 0) wake(waits);
}

std::span<const std::byte> Channel::readable() {
  if (broken()) return {};
  const uint64_t written = theirs_.written.load(std::memory_order_acquire);
  const uint64_t there = written - read_;
  if (there > ring_bytes_ || written - consumed_ > ring_bytes_) {
    broken_ = true;
    return {};
  }
  // Loaded after `written`: the writer stores a new origin before it writes more, and only if this
  // side has consumed all bytes before.
  const uint64_t origin = theirs_.origin.load(std::memory_order_relaxed);
  return {their_ring_ + offset(read_, origin), there};
}

void Channel::release(size_t bytes) {
  assert(bytes <= read_ - consumed_);  // otherwise the other side could overwrite unread bytes
  consumed_ += bytes;
  mine_.consumed.store(consumed_, std::memory_order_release);
  ring_for(kForSpace);
}

bool Channel::at_end() {
  if (!gone() && theirs_.ended.load(std::memory_order_acquire) == 0) return false;
  return readable().empty();  // checked after `ended` was loaded, so no byte is missed
}

std::span<std::byte> Channel::writable(size_t wanted) {
  if (broken()) return {};
  uint64_t used = written_ - their_consumed_;
  if (ring_bytes_ - used < wanted) {
    const uint64_t consumed = theirs_.consumed.load(std::memory_order_acquire);
    // The other side can consume at most what it had not consumed before.
    if (consumed - their_consumed_ > used) {
      broken_ = true;
      return {};
    }
    used = written_ - consumed;
    their_consumed_ = consumed;
  }
  return {my_ring_ + offset(written_, origin_), ring_bytes_ - used};
}

void Channel::try_rewind() {
  tried_at_ = written_;
  if (writable(ring_bytes_).size() != ring_bytes_) return;
  tried_at_ = origin_ = written_ - kRewindTo;
  mine_.origin.store(origin_, std::memory_order_relaxed);  // publish() releases it
}

void Channel::publish(size_t bytes) {
  written_ += bytes;
  assert(written_ - their_consumed_ <= ring_bytes_);
  mine_.written.store(written_, std::memory_order_release);
  ring_for(kForData);
}

void Channel::end_writes(End how) {
  if (ended_) return;
  ended_ = true;
  mine_.ended.store(static_cast<uint32_t>(how), std::memory_order_release);
  ring_for(kForData);
}

void Channel::ring_for(uint32_t what) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  std::atomic<uint32_t>& waits = theirs_.waits;
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
  const uint32_t before = mine_.waits.fetch_or(what, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return what & ~before;
}

void Channel::sleep_briefly(uint32_t what, std::chrono::nanoseconds time) {
  const uint32_t bits = what << kByFutex;
  std::atomic<uint32_t>& waits = mine_.waits;
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

void Channel::resync_reads() { read_ = consumed_ = mine_.consumed.load(std::memory_order_relaxed); }

void Channel::resync_writes() {
  written_ = mine_.written.load(std::memory_order_relaxed);
  tried_at_ = origin_ = mine_.origin.load(std::memory_order_relaxed);
  ended_ = mine_.ended.load(std::memory_order_relaxed) != 0;
  their_consumed_ = written_ - ring_bytes_;  // makes writable() load the counter
}

uint32_t Channel::stay_awake(uint32_t what) {
  return mine_.waits.fetch_and(~what, std::memory_order_relaxed) & what;
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
