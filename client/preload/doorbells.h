// SPDX-License-Identifier: Apache-2.0
// client/preload/doorbells.h: keeps the doorbells in a connection's socket in step with its ring,
// so that poll(2) and epoll report correctly whether the ring has data.
//
// A program polls its socket, which contains the doorbells that the other side sent (docs/shm.md).
// So a doorbell must be in the socket as long as the ring has something to read, and should not
// stay there for much longer.
//
// asked   the bits that this side has set in `waits`. If a bit is no longer set in shared memory,
//         the other side has cleared it, and has sent its doorbell or sends it at once.
// due     the number of doorbells whose bits the other side cleared and which this side has not yet
//         read from the socket.
//
// This class never reads more doorbells than are due (take_all() has the one exception). A due
// doorbell belongs to an earlier change, which this side sees when it checks the ring. A doorbell
// that is not due may announce later data: if it were read, the program would not learn of that
// data, because the other side does not ring again.
//
// Thread  calls for data hold the connection's reader lock; another thread may ask for space at the
//         same time, so a mutex protects the counts.
// Forks   the counts are in memory that parent and child share, because both share the socket.
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

  // After a connector's handshake one doorbell is due: see Handshake::leave_a_doorbell().
  explicit Doorbells(Counts& counts) : counts_(counts) {}

  // Asks the other side to ring for `what` too. Afterwards the caller checks the ring.
  void ask(ring::Channel& channel, uint32_t what);
  // Reads all doorbells that are due, after the caller called ask() and found the ring empty.
  // `seen`: the socket contained a doorbell before ask(). If `seen` is true and none is due, reads
  // that one too, because this side did not ask for it.
  void take_all(ring::Channel& channel, bool seen);
  // Reads all doorbells that are due but one, after the caller found data in the ring.
  void take_all_but_one(ring::Channel& channel);

  void forget_threads();

 private:
  void take(ring::Channel& channel, uint32_t doorbells_max);

  std::mutex mutex_;
  Counts& counts_;
};

}  // namespace hatrpc::preload
