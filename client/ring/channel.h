// SPDX-License-Identifier: Apache-2.0
// client/ring/channel.h: one side of a pair of rings; no operation blocks.
//
//   reader   readable() ─▶ bytes, in place ─▶ consume(n)
//   writer   writable() ─▶ space, in place ─▶ publish(n)
//   sleeper  may_sleep(what) ── true ─▶ wait until fd() is readable ─▶ hear() ─▶ poll again
//                            └─ false: the data or the space is there already
//
// Trust    Each side keeps its own counters, and accepts the other side's counters only within the
//          ring's bounds. A counter outside them makes the channel broken(), for good. The *bytes*
//          of a ring may change while this side reads them: read each byte once, or copy the bytes
//          first.
// Order    publish() and consume() store with release order; the other side's readable() and
//          writable() load with acquire order. A side that is about to sleep sets bits in `waits`,
//          executes a full barrier and checks the ring again. A side that publishes executes a full
//          barrier and then reads `waits`. At least one of the two sees the other's store.
// Doorbell A byte on the socket, sent once each time that a side announces that it waits. It is not
//          an eventfd, because the other side could make an eventfd block us, and because the end
//          of the socket reports the other side's death.
// Always   consumed_ <= read_ <= consumed_ + ring, and written_ <= their_consumed_ + ring (modulo
//          2^64): asserted in builds without NDEBUG.
// Thread   one reader and one writer at a time; both may sleep at once.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "client/ring/memory.h"

namespace hatrpc::ring {

class Channel {
 public:
  // Owns `socket`, on which the handshake is complete (handshake.h).
  Channel(int socket, Memory memory, Side side)
      : Channel(socket, std::make_shared<const Memory>(std::move(memory)), side) {}
  Channel(int socket, std::shared_ptr<const Memory> memory, Side side);
  // Closes the socket. When no process has it open any more (after a fork, two have), the other
  // side reads the bytes that are left, and then the end.
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  int fd() const { return socket_; }
  const std::shared_ptr<const Memory>& memory() const { return memory_; }

  // Returns the bytes that have arrived and were not consumed.
  std::span<const std::byte> readable();
  void consume(size_t bytes) {
    pass(bytes);
    release(bytes);
  }
  // consume() in two halves, for a caller that still uses the bytes in between. After pass(),
  // readable() begins after these bytes; after release(), the other side may overwrite them.
  void pass(size_t bytes) {
    read_ += bytes;
    assert(read_ - consumed_ <= memory_->ring_bytes());
  }
  void release(size_t bytes);
  // Returns true if the other side has ended its writes or is gone, and every byte that it wrote
  // was consumed.
  bool at_end();
  // Returns true if the other side gave up: the bytes read are fewer than there should have been.
  bool aborted() const {
    return theirs().ended.load(std::memory_order_acquire) == static_cast<uint32_t>(End::kAborted);
  }

  // Returns the free space. Loads the other side's counter only if less than `wanted` is known to
  // be free.
  std::span<std::byte> writable(size_t wanted = 1);
  void publish(size_t bytes);
  void end_writes(End how = End::kEnded);
  bool writes_ended() const { return ended_; }

  // Returns true if the other side's counters were out of bounds: this side reads and writes no
  // more.
  bool broken() const { return broken_.load(std::memory_order_relaxed); }
  // Returns true if the other side has closed the socket or died, so that it reads nothing any
  // more. hear() finds this out.
  bool gone() const { return gone_.load(std::memory_order_relaxed); }

  // Announces that this side waits for `what`. Returns false if the data or space is there already.
  bool may_sleep(uint32_t what);
  void stay_awake(uint32_t what);  // withdraws may_sleep()
  // Reads doorbells from the socket, at most `doorbells_max` and at most 64; returns how many it
  // read.
  size_t hear(size_t doorbells_max = 64);

  // --- For a class that lets its program wait on fd() itself ---
  // Sets bits in `waits`; returns those newly set (the other side had cleared them when it rang).
  uint32_t arm(uint32_t what);
  // Returns the bits of `waits` that are still set.
  uint32_t armed() const { return mine().waits.load(std::memory_order_relaxed); }
  // Records that the other side is gone; the caller saw the socket's end, and hear() did not.
  void lose() { gone_ = true; }
  // Continues reading, or writing, from the counters in shared memory, if another process used the
  // same side before: after a fork or an exec.
  void resync_reads();
  void resync_writes();
  // Continues with another descriptor of the same connection, and owns it from now on.
  void use(int socket) { socket_ = socket; }

 private:
  Lines& mine() const { return memory_->control().sides[static_cast<size_t>(side_)]; }
  Lines& theirs() const { return memory_->control().sides[static_cast<size_t>(other(side_))]; }
  uint64_t offset(uint64_t count) const { return count & (memory_->ring_bytes() - 1); }
  void ring_for(uint32_t what);

  int socket_;
  std::shared_ptr<const Memory> memory_;
  const Side side_;
  uint64_t written_ = 0;
  uint64_t read_ = 0;
  uint64_t consumed_ = 0;
  uint64_t their_consumed_ = 0;  // as last loaded
  bool ended_ = false;
  std::atomic<bool> broken_ = false;
  std::atomic<bool> gone_ = false;
};

}  // namespace hatrpc::ring
