// SPDX-License-Identifier: Apache-2.0
// client/ring/handshake.h: how two processes on a connected unix socket set up shared rings.
//
//   connector ── Greeting {version, wish} ─────────────▶ acceptor
//   connector ◀─ Greeting {version, ring_bytes}, memfd ── acceptor
//
// The acceptor creates the memory. The owner and mode of the socket's path, and SO_PEERCRED, decide
// which process may connect.
//
// Errors   errno values. EAGAIN: call step() again when the socket is readable. EPROTO: the other
//          side does not follow this protocol. EPROTONOSUPPORT: no version in common. ENOMEM: the
//          acceptor has no memory. ECONNRESET: the other side closed the socket.
#pragma once

#include <cstddef>

#include "client/ring/memory.h"

namespace hatrpc::ring {

class Handshake {
 public:
  // `ring_bytes` must satisfy valid_ring_bytes(). It is the connector's wish, or the acceptor's
  // size for a connector without a wish. An acceptor gives at most `ring_bytes_max`.
  Handshake(Side side, int socket, uint64_t ring_bytes = kRingBytesDefault,
            uint64_t ring_bytes_max = kRingBytesMax);
  ~Handshake();
  Handshake(const Handshake&) = delete;
  Handshake& operator=(const Handshake&) = delete;

  // For a connector, before its first step(): leaves the last byte of the acceptor's greeting,
  // which carries no information, in the socket, where it acts as a doorbell that has rung.
  void leave_a_doorbell() { greeting_bytes_ = sizeof theirs_ - 1; }

  // Advances the handshake without blocking, whatever the socket's flags are. Returns 0 when the
  // memory is ready for take_memory().
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
  size_t greeting_bytes_ = sizeof theirs_;  // bytes to receive
  int descriptor_ = -1;                     // received with the greeting
  Memory memory_;
};

}  // namespace hatrpc::ring
