// SPDX-License-Identifier: Apache-2.0
// client/preload/bells.h: keeps the bells in a connection's socket so that poll(2) and epoll tell
// the truth of its ring.
//
// A program polls its socket, in which lie the other side's bells (docs/shm.md). So a bell must lie
// there as long as the ring has something to read; and should not for much longer.
//
//   asked   what this side has asked to be rung for; a bit that is no longer set in shared memory
//           was taken by the other side: its bell has been sent, or will be at once
//   due     the bells of bits that were taken, and that are not out of the socket yet
//
// Never are more taken out than are due. One that is due comes from before the ring was looked at;
// one that is not may be of what has come since, and nobody would ring again.
//
// Thread   under a lock of the connection's (asked for room: another thread than for data).
// Forks    the numbers are in memory that parent and child share, as they share the socket.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "client/ring/channel.h"

namespace hatrpc::preload {

class Bells {
 public:
  struct Counts {
    std::atomic<uint32_t> asked;  // kForData, kForRoom
    std::atomic<uint32_t> due;
  };

  // After the handshake of a connector one bell is due: Handshake::leave_a_bell().
  explicit Bells(Counts& counts) : counts_(counts) {}

  // To be rung for these too. Then look.
  void ask(ring::Channel& channel, uint32_t what);
  // There was nothing when it was looked after ask(): takes all out that are due. `seen`: one lay
  // there before ask(); if none is due, that one is nobody's.
  void take_all(ring::Channel& channel, bool seen);
  // There was something: one stays.
  void take_all_but_one(ring::Channel& channel);

  void forget_threads();

 private:
  void take(ring::Channel& channel, uint32_t bells_max);

  std::mutex mutex_;
  Counts& counts_;
};

}  // namespace hatrpc::preload
