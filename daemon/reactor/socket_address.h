// SPDX-License-Identifier: Apache-2.0
// daemon/reactor/socket_address.h: converts an Address to the kernel's form and back.
#pragma once

#include <sys/socket.h>

#include <chrono>

#include "base/address.h"

namespace hat {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;
};

// Returns the kernel's form of `address`; `passive` means that the caller listens on it. A numeric
// host takes no time. A name is looked up, which may block; the first address found is used.
Result<SocketAddress> resolve(const Address& address, bool passive);

// Returns the Address of a socket, with a numeric host. A unix socket has the kind kUnix, also
// if rings are set up over it.
Address to_address(const SocketAddress& socket_address);
// Returns the address to which the socket is bound.
Result<Address> bound_address(int fd);

// Sets the options of a TCP connection: TCP_NODELAY, and keepalive probes after `probe_after`
// without traffic; 0 means no probes.
void set_tcp_options(int fd, std::chrono::seconds probe_after);

// Stops the other side of a unix socket from passing descriptors to this process. Closing the last
// copy of a passed descriptor can block: close(2) of a socket with SO_LINGER waits for as long as
// its owner has set. Needs Linux 6.16; older kernels still pass descriptors.
void refuse_descriptors(int fd);

}  // namespace hat
