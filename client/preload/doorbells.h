// SPDX-License-Identifier: Apache-2.0
// client/preload/doorbells.h: decides which doorbells to read from a connection's socket, so that
// poll(2) and epoll report correctly whether the ring has data.
//
// A program polls its socket, and the socket contains the doorbells that the other side sent
// (docs/shm.md). So a doorbell must be in the socket while the ring has data, and should be read
// soon after the data was read.
//
// asked   the bits that this side has set in its field `waits` in shared memory. If the other side
//         has cleared such a bit, the other side has sent a doorbell or sends it at once.
// due     the number of doorbells whose bits the other side has cleared, and which this side has
//         not yet read from the socket.
//
// This class never reads more doorbells than are due (with one exception: take_all()). A due
// doorbell announces a change that this side sees when it next checks the ring. A doorbell that is
// not due can announce later data. If this class read such a doorbell, the program would not learn
// of the data, because the other side does not ring a second time.
//
// Thread  A caller that asks for data holds the connection's reader lock. Another thread can ask
//         for space at the same time, so a mutex protects the counts.
// Forks   The counts are in memory that parent and child share, because they share the socket, too.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "client/ring/channel.h"

namespace hatrpc::preload {

class Doorbells {
 public:
  struct Counts {
    std::atomic<uint32_t> asked;  // kForData, kForSpace
    std::atomic<uint32_t> due;
  };

  // Uses the caller's `counts`. After the handshake, `counts.due` must be 1 if the handshake left a
  // byte in the socket (Handshake::leave_a_doorbell()).
  explicit Doorbells(Counts& counts) : counts_(counts) {}

  // Asks the other side to ring for `what` (kForData or kForSpace), in addition to earlier
  // requests. The caller must check the ring afterwards.
  void ask(ring::Channel& channel, uint32_t what);
  // Withdraws the request for a doorbell when space is free, because the program no longer waits
  // for space. Otherwise the doorbell would report data that the ring does not have. Returns true
  // if the other side has rung already: the doorbell must still be read.
  bool withdraw_space(ring::Channel& channel);
  // Reads all due doorbells. Call this if the ring was empty after ask(). `seen` must be true if
  // the socket contained a doorbell before ask(). If `seen` is true but no doorbell is due, this
  // side did not ask for that doorbell; then the function reads one doorbell.
  void take_all(ring::Channel& channel, bool seen);
  // Reads all due doorbells except one. Call this if the ring has data.
  void take_all_but_one(ring::Channel& channel);

  // Creates the mutex anew in a forked child, where the thread that held the mutex does not exist.
  void forget_threads();

 private:
  void take(ring::Channel& channel, uint32_t doorbells_max);

  std::mutex mutex_;
  Counts& counts_;
};

}  // namespace hatrpc::preload
