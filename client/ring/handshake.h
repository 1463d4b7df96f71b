// SPDX-License-Identifier: Apache-2.0
// client/ring/handshake.h: sets up shared rings between two processes that have a connected unix
// socket.
//
//   connector ── Greeting {version, ring_bytes wish} ──▶ acceptor
//   connector ◀─ Greeting {version, ring_bytes}, memfd ── acceptor
//
// The acceptor creates the memory. The owner and mode of the socket's path decide which processes
// can connect; an acceptor can also check SO_PEERCRED.
//
// Errors   errno values. EAGAIN: call step() again when the socket is readable. EPROTO: the other
//          side violates this protocol. EPROTONOSUPPORT: the two sides have no version in common.
//          ENOMEM: the acceptor has no memory. ECONNRESET: the other side closed the socket.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <utility>

#include "client/ring/memory.h"

namespace hatrpc::ring {

class Handshake {
 public:
  // Uses `socket`, which the caller still owns. In a connector, `ring_bytes` is the size that it
  // requests for each ring. In an acceptor, `ring_bytes` is the size for a connector that requests
  // no size, and `ring_bytes_max` is the largest size that the acceptor allows. `ring_bytes` must
  // satisfy valid_ring_bytes().
  Handshake(Side side, int socket, uint64_t ring_bytes = kRingBytesDefault,
            uint64_t ring_bytes_max = kRingBytesMax);
  ~Handshake();
  Handshake(const Handshake&) = delete;
  Handshake& operator=(const Handshake&) = delete;

  // Makes the handshake leave the last byte of the other side's greeting in the socket; this byte
  // carries no information, and then acts as a doorbell. Call this before the first step().
  void leave_a_doorbell() { greeting_bytes_ = sizeof theirs_ - 1; }

  // Makes an acceptor call `place` with the mapped memory that it creates, before either side uses
  // the memory. Only an acceptor can call this, before its first step().
  void place_memory(std::function<void(std::span<std::byte>)> place) { place_ = std::move(place); }

  // Continues the handshake without blocking, even on a blocking socket. Returns 0 if the handshake
  // is complete and take_memory() can be called, or an errno value.
  int step();
  Memory take_memory() { return std::move(memory_); }

 private:
  int receive();
  int greet(Refusal refusal);
  int accept();
  int connect();

  const Side side_;
  const int socket_;
  const uint64_t ring_bytes_;
  const uint64_t ring_bytes_max_;
  bool greeted_ = false;
  size_t received_ = 0;
  Greeting theirs_{};
  size_t greeting_bytes_ = sizeof theirs_;           // the number of bytes to receive
  std::function<void(std::span<std::byte>)> place_;  // empty: the kernel places the memory
  int descriptor_ = -1;                              // the descriptor that came with the greeting
  Memory memory_;
};

}  // namespace hatrpc::ring
