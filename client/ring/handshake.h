// SPDX-License-Identifier: Apache-2.0
// client/ring/handshake.h: how two processes on a connected unix socket come to share rings.
//
//   connector ── Greeting {version, wish} ─────────────▶ acceptor
//   connector ◀─ Greeting {version, ring_bytes}, memfd ── acceptor
//
// The acceptor makes the memory. Who may connect is the socket's affair: its path's owner and mode,
// and SO_PEERCRED.
//
// Errors   errno values. EAGAIN: again when the socket is readable. EPROTO: the other side speaks
//          something else. EPROTONOSUPPORT: no version in common. ENOMEM: the acceptor has no
//          memory. ECONNRESET: it closed.
#pragma once

#include <cstddef>

#include "client/ring/memory.h"

namespace hatrpc::ring {

class Handshake {
 public:
  // `ring_bytes`: valid_ring_bytes(); the connector's wish, or the acceptor's own size where the
  // connector has none. An acceptor gives at most `ring_bytes_max`.
  Handshake(Side side, int socket, uint64_t ring_bytes = kRingBytesDefault,
            uint64_t ring_bytes_max = kRingBytesMax);
  ~Handshake();
  Handshake(const Handshake&) = delete;
  Handshake& operator=(const Handshake&) = delete;

  // Before the first step of a connector: the greeting's last byte, which says nothing, stays in
  // the socket, as a bell that has rung.
  void leave_a_bell() { greeting_bytes_ = sizeof theirs_ - 1; }

  // Never blocks, whatever the socket's own flags. 0: memory() is there.
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
  size_t greeting_bytes_ = sizeof theirs_;  // that are received
  int descriptor_ = -1;                     // that came along
  Memory memory_;
};

}  // namespace hatrpc::ring
