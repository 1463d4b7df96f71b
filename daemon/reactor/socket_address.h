// SPDX-License-Identifier: Apache-2.0
// daemon/reactor/socket_address.h: an Address as the kernel wants it.
#pragma once

#include <sys/socket.h>

#include "base/address.h"

namespace hat {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;
};

// `passive`: to listen on. Numeric hosts take no time; names are looked up, which may block, and
// the first address found is taken.
Result<SocketAddress> resolve(const Address& address, bool passive);

// The way back, with the host in digits; a unix socket's is kUnix, whatever is spoken there.
Address to_address(const SocketAddress& socket_address);
// Where the socket is bound.
Result<Address> bound_address(int fd);

// Who is on the other side of a unix socket can pass descriptors no more: the last to close one
// does what that takes, and a socket that lingers blocks for as long as its owner has said.
// Linux 6.16; older kernels go without.
void refuse_descriptors(int fd);

}  // namespace hat
