// SPDX-License-Identifier: Apache-2.0
// client/ring/channel.h: one side of a pair of rings, without ever blocking.
//
//   reader   readable() ─▶ bytes, in place ─▶ consume(n)
//   writer   writable() ─▶ room, in place  ─▶ publish(n)
//   sleeper  may_sleep(what) ── true ─▶ wait until fd() is readable ─▶ hear() ─▶ look again
//                            └─ false: it is there already
//
// Trust    Each side keeps its own counters, and believes the other's only within the ring's
//          bounds: what passes them makes the channel broken(), for good. The *bytes* of a ring may
//          change while they are looked at: read each once, or copy first.
// Order    publish() and consume() are releases that the other side's readable() and writable()
//          acquire. A sleeper writes `waits` and looks again behind a full barrier, and whoever
//          publishes reads `waits` behind one: one of the two sees the other.
// Bells    A byte on the socket, sent once for each time that a side says it waits. Not an eventfd:
//          the other side could make that one block us, and the socket's end tells of its death.
// Thread   one reader and one writer at a time; both may sleep at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "client/ring/memory.h"

namespace hatrpc::ring {

class Channel {
 public:
  // Owns `socket`, whose greetings are over (handshake.h).
  Channel(int socket, Memory memory, Side side)
      : Channel(socket, std::make_shared<const Memory>(std::move(memory)), side) {}
  Channel(int socket, std::shared_ptr<const Memory> memory, Side side);
  // Closes the socket; once no process has it any more (after a fork both have), the other side
  // reads what is left, and then the end.
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  int fd() const { return socket_; }
  const std::shared_ptr<const Memory>& memory() const { return memory_; }

  // What has come and was not consumed.
  std::span<const std::byte> readable();
  void consume(size_t bytes) {
    pass(bytes);
    release(bytes);
  }
  // consume() in two halves, for who goes on to use the bytes: readable() is behind them at once,
  // and the other side overwrites them after the release.
  void pass(size_t bytes) { read_ += bytes; }
  void release(size_t bytes);
  // The other side writes no more, or is gone, and all that it wrote was consumed.
  bool at_end();
  // What was read is not all that there should have been.
  bool aborted() const {
    return theirs().ended.load(std::memory_order_acquire) == static_cast<uint32_t>(End::kAborted);
  }

  // Free room; looks at what the other side has consumed only where less than `wanted` is known of.
  std::span<std::byte> writable(size_t wanted = 1);
  void publish(size_t bytes);
  void end_writes(End how = End::kEnded);
  bool writes_ended() const { return ended_; }

  // The other side's counters make no sense: nothing more is read or written.
  bool broken() const { return broken_.load(std::memory_order_relaxed); }
  // The other side has closed, or died: nobody reads what is written. Known after hear().
  bool gone() const { return gone_.load(std::memory_order_relaxed); }

  // Says that this side waits. False: what it would wait for is there.
  bool may_sleep(uint32_t what);
  void stay_awake(uint32_t what);  // takes it back
  // Takes the bells that have rung, at most so many. How many there were.
  size_t hear(size_t bells_max = 64);

  // --- For those who let others wait on fd() ---
  // Sets bits in `waits`; those that were not set before, because their bells have rung.
  uint32_t arm(uint32_t what);
  // The bits that are still set.
  uint32_t armed() const { return mine().waits.load(std::memory_order_relaxed); }
  // The socket's end was seen elsewhere than in hear().
  void lose() { gone_ = true; }
  // The reader, or the writer, goes on from where another process with the same side has left:
  // after a fork, or an exec.
  void resync_reads();
  void resync_writes();
  // The same connection under another number, which it owns from now on.
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
  uint64_t their_consumed_ = 0;  // as last seen
  bool ended_ = false;
  std::atomic<bool> broken_ = false;
  std::atomic<bool> gone_ = false;
};

}  // namespace hatrpc::ring
