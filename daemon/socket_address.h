// daemon/socket_address.h: an Address as the kernel wants it.
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

}  // namespace hat
