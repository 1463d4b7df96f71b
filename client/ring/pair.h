// SPDX-License-Identifier: Apache-2.0
// client/ring/pair.h: both sides of a channel in one process, for tests.
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <stdexcept>

#include "client/ring/channel.h"

namespace hatrpc::ring {

struct Pair {
  // Makes both sides, which use that version of the ring format.
  explicit Pair(uint64_t ring_bytes = kRingBytesMin, uint32_t version = kVersion) {
    int sockets[2];
    Memory memory;
    Memory again;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0 ||
        Memory::create(ring_bytes, memory) != 0 || Memory::map(dup(memory.fd()), again) != 0) {
      throw std::runtime_error("no pair of rings");
    }
    memory.control().version = version;
    control = &again.control();  // valid as long as `connector` exists
    connector = std::make_unique<Channel>(sockets[0], std::move(again), Side::kConnector);
    acceptor = std::make_unique<Channel>(sockets[1], std::move(memory), Side::kAcceptor);
  }

  Control* control;
  std::unique_ptr<Channel> connector;
  std::unique_ptr<Channel> acceptor;
};

}  // namespace hatrpc::ring
