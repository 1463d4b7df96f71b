// SPDX-License-Identifier: Apache-2.0
// client/ring/channel.h: one side of a pair of rings; no operation blocks.
//
//   to read    readable() ─▶ read the bytes in shared memory ─▶ consume(n)
//   to write   rewind() ─▶ writable() ─▶ write bytes into the space ─▶ publish(n)
//   to sleep   may_sleep(what) ─ true ──▶ wait until fd() is readable ─▶ hear() ─▶ check the ring
//                              └ false ─▶ do not sleep: the ring has data (or space)
//   or         sleep_briefly(what, time) ─▶ check the ring
//
// Trust    Each side keeps its own counters, and checks the other side's counters. If a counter
//          claims more data or more space than the ring has bytes, the channel becomes broken() and
//          stays so. The bytes of a ring can change while this side reads them: read each byte only
//          once, or copy the bytes first.
// Rewind   A ring whose bytes were all consumed can start again in its first page. So small
//          messages use the first two pages of the ring again and again, which stay in the caches
//          of the cores. Otherwise each ring would move through all its memory, and many rings
//          would not fit the caches. The reader follows with `origin`, in the cache line of
//          `written`.
// Order    publish() and consume() store with release order; the other side's readable() and
//          writable() load with acquire order. A side that is about to sleep sets bits in `waits`,
//          executes a full barrier and checks the ring again. A side that publishes executes a full
//          barrier and then reads `waits`. Therefore the sleeping side sees the new data, or the
//          publishing side sees the bit in `waits`, or both.
// Doorbell A byte on the socket. A side sends it once each time that the other side has set a bit
//          in `waits`. A doorbell is not an eventfd, because the other side could make this side
//          block on an eventfd, and because a socket also reports the death of the other side.
// Futex    A thread that waits for one ring only can sleep on `waits` itself (futex(2)), which
//          costs two system calls in place of three. A futex does not report the death of the other
//          side, so such a sleep must be short.
// Always   consumed_ <= read_ <= consumed_ + ring size, and written_ <= their_consumed_ + ring size
//          (modulo 2^64). Asserted in builds without NDEBUG.
// Thread   one reader and one writer at a time; the two can sleep at the same time.
#pragma once

#include <cassert>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "client/ring/memory.h"

namespace hatrpc::ring {

class Channel {
 public:
  // Takes ownership of `socket`, on which the handshake must be complete (handshake.h).
  Channel(int socket, Memory memory, Side side)
      : Channel(socket, std::make_shared<const Memory>(std::move(memory)), side) {}
  Channel(int socket, std::shared_ptr<const Memory> memory, Side side);
  // Closes the socket. When no other process has the socket open (a forked child can have it open),
  // the other side reads the bytes that are left, and then the end of the stream.
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  int fd() const { return socket_; }
  const std::shared_ptr<const Memory>& memory() const { return memory_; }

  // Returns the bytes that have arrived and were not consumed yet.
  std::span<const std::byte> readable();
  void consume(size_t bytes) {
    pass(bytes);
    release(bytes);
  }
  // Removes the first `bytes` bytes from readable(), but keeps the other side from overwriting them
  // until release(). This is for a caller that still uses the bytes; other callers use consume(),
  // which calls pass() and release() at once.
  void pass(size_t bytes) {
    read_ += bytes;
    assert(read_ - consumed_ <= ring_bytes_);
  }
  // Allows the other side to overwrite `bytes` bytes that pass() has removed.
  void release(size_t bytes);
  // Returns true if the other side has ended its writes or is gone, and this side has consumed all
  // bytes.
  bool at_end();
  // Returns true if the other side gave up before it had written everything.
  bool aborted() const {
    return theirs_.ended.load(std::memory_order_acquire) == static_cast<uint32_t>(End::kAborted);
  }

  // Returns the free space. To avoid a cache miss, loads the other side's counter only if the free
  // space according to the last load is less than `wanted` bytes.
  std::span<std::byte> writable(size_t wanted = 1);
  // Starts again in the first page of the ring, if this side has left that page, and the other side
  // has consumed everything. Otherwise tries again only after a page of further bytes, because an
  // attempt loads the other side's counter, which is a cache miss. After a rewind, ranges of
  // writable() that were returned before are no longer valid.
  void rewind() {
    if (rewinds_ && written_ - tried_at_ >= kPageBytes) try_rewind();
  }
  // Makes the first `bytes` bytes of writable() readable for the other side.
  void publish(size_t bytes);
  void end_writes(End how = End::kEnded);
  bool writes_ended() const { return ended_; }

  // Returns true if a counter of the other side was invalid. Then this side neither reads nor
  // writes any more.
  bool broken() const { return broken_.load(std::memory_order_relaxed); }
  // Returns true if hear() has found that the other side closed the socket or died.
  bool gone() const { return gone_.load(std::memory_order_relaxed); }

  // Requests a doorbell for `what` (kForData, kForSpace), and returns true: the caller may sleep.
  // If the ring already has data (or space), withdraws the request and returns false.
  bool may_sleep(uint32_t what);
  // Withdraws the request of may_sleep() or arm(). Returns the bits of `what` for which the other
  // side has not rung.
  uint32_t stay_awake(uint32_t what);
  // Returns true if both sides know the futex, so that sleep_briefly() can be used.
  bool has_futex() const { return memory_->control().version >= kVersionOfFutex; }
  // Sleeps on the futex for at most `time`, unless the ring has data (or space) already. `what` is
  // kForData or kForSpace. The function can return early: the caller must check the ring. It does
  // not notice that the other side died; a side that closes the channel wakes the sleeper.
  void sleep_briefly(uint32_t what, std::chrono::nanoseconds time);
  // Reads up to `doorbells_max` doorbells (never more than 64) from the socket without blocking,
  // and returns their number. If the socket has ended, makes gone() return true.
  size_t hear(size_t doorbells_max = 64);

  // --- For the preloaded library, whose program itself waits on fd() ---
  // Sets the bits `what` in `waits`. Returns the bits that were not set before.
  uint32_t arm(uint32_t what);
  // Returns the bits of this side's `waits` for which the other side has not rung yet.
  uint32_t armed() const { return mine_.waits.load(std::memory_order_relaxed); }
  // Makes gone() return true. Call this after your own read of the socket has found its end.
  void lose() { gone_ = true; }
  // Loads from shared memory how many bytes this side has consumed. Needed if another process has
  // used the same side of the channel, after a fork or an exec.
  void resync_reads();
  // Loads from shared memory how many bytes this side has written and where, and whether its writes
  // have ended. Needed if another process has used the same side of the channel, after a fork or an
  // exec.
  void resync_writes();
  // Replaces the socket by another descriptor of the same connection, and takes ownership of it.
  void use(int socket) { socket_ = socket; }

 private:
  static constexpr uint64_t kPageBytes = 4096;
  // A rewound ring continues at this offset and not at 0, because memcpy() can be slow between
  // certain offsets. glibc uses `rep movsb` for large copies. On AMD EPYC, this instruction had a
  // fifteenth of the usual speed if the destination was 1, 4 or 12 bytes after the source, modulo
  // 4096 (docs/decisions/rewound-rings.md). That would be the usual case with 0: a framed message
  // begins with its size in 4 bytes, and malloc() places large buffers 16 bytes after the start of
  // a page.
  static constexpr uint64_t kRewindTo = 512;

  // Returns the offset of byte number `count` in a ring in which byte number `origin` is at 0. Any
  // origin gives an offset within the ring.
  uint64_t offset(uint64_t count, uint64_t origin) const {
    return (count - origin) & (ring_bytes_ - 1);
  }
  void try_rewind();
  bool has(uint32_t what);
  void ring_for(uint32_t what);

  // The first of these members are all that a poll for data reads: a reactor polls many channels in
  // a row.
  Lines& theirs_;  // in the memory, as are the next three
  std::byte* const their_ring_;
  Lines& mine_;
  std::byte* const my_ring_;
  const uint64_t ring_bytes_;
  uint64_t read_ = 0;
  uint64_t consumed_ = 0;
  std::atomic<bool> broken_ = false;
  std::atomic<bool> gone_ = false;
  bool ended_ = false;
  const bool rewinds_;  // the other side knows the origin
  int socket_;
  uint64_t written_ = 0;
  uint64_t origin_ = 0;    // the number of the byte at offset 0 of this side's ring
  uint64_t tried_at_ = 0;  // the last attempt to rewind: `written_` after a failed one, or else
                           // `origin_`
  uint64_t their_consumed_ = 0;  // the other side's counter when it was last loaded
  std::shared_ptr<const Memory> memory_;
};

}  // namespace hatrpc::ring
