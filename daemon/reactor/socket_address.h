// SPDX-License-Identifier: Apache-2.0
// daemon/reactor/socket_address.h: converts an Address to a sockaddr of the kernel, and back.
#pragma once

#include <sys/socket.h>

#include <chrono>

#include "base/address.h"

namespace hat {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;
};

// Returns an address on which the caller will listen as a sockaddr. A host name is looked up, which
// can block, and its first address is used.
Result<SocketAddress> to_listen_on(const Address& address);
// Returns an address to which the caller will connect as a sockaddr. Never blocks: it is an error
// if the host is not numeric, because daemon/discovery looks up names.
Result<SocketAddress> to_connect_to(const Address& address);

// Returns the Address of a socket, with a numeric host. The kind of a unix socket is always kUnix,
// also if the socket serves rings.
Address to_address(const SocketAddress& socket_address);
// Returns the address to which the socket is bound.
Result<Address> bound_address(int fd);
// Returns the text of an address as its bound socket has it: "unix:PATH" for "shm:PATH", because a
// listening socket for rings is a unix socket to the kernel.
std::string as_bound(const std::string& address);

// Sets the options of a TCP connection: TCP_NODELAY, and keepalive probes after `probe_after`
// without traffic; 0 means no probes.
void set_tcp_options(int fd, std::chrono::seconds probe_after);

// Makes the kernel refuse file descriptors (SCM_RIGHTS) that the other side of this unix socket
// passes. An attacker could otherwise block this thread: close(2) of the last copy of a passed
// socket waits for as long as that socket's SO_LINGER says. Needs Linux 6.16; does nothing on older
// kernels.
void refuse_descriptors(int fd);

}  // namespace hat
