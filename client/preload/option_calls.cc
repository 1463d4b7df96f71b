// SPDX-License-Identifier: Apache-2.0
// client/preload/option_calls.cc: getpeername, getsockname, getsockopt and setsockopt, which return
// for a ring what they would return for a TCP socket. For a listening socket that also accepts
// rings, they use its TCP socket.
#include <netinet/in.h>
#include <sys/socket.h>

#include "client/preload/connection.h"
#include "client/preload/descriptors.h"
#include "client/preload/listener.h"
#include "client/preload/real.h"

namespace hatrpc::preload {
namespace {

// Returns `fd`, or the TCP socket of a listening socket that also accepts rings. Another thread
// that closes `fd` during the call makes the call fail with EBADF, as without this library.
int tcp_socket(int fd) {
  const auto listener = descriptors::listener(fd);
  return listener == nullptr ? fd : listener->tcp();
}

}  // namespace
}  // namespace hatrpc::preload

using namespace hatrpc::preload;

HAT_INTERCEPTED int getpeername(int fd, sockaddr* address, socklen_t* bytes) noexcept {
  const auto connection = descriptors::ring(fd);
  if (connection == nullptr) return real::getpeername(tcp_socket(fd), address, bytes);
  connection->peer().give(address, bytes);
  return 0;
}

HAT_INTERCEPTED int getsockname(int fd, sockaddr* address, socklen_t* bytes) noexcept {
  const auto connection = descriptors::ring(fd);
  if (connection == nullptr) return real::getsockname(tcp_socket(fd), address, bytes);
  connection->local().give(address, bytes);
  return 0;
}

HAT_INTERCEPTED int getsockopt(int fd, int level, int name, void* value,
                               socklen_t* bytes) noexcept {
  const auto connection = descriptors::ring(fd);
  if (connection == nullptr) return real::getsockopt(tcp_socket(fd), level, name, value, bytes);
  if (Options::is_one(level)) return connection->options().get(level, name, value, bytes);
  int known = 0;
  if (level == SOL_SOCKET && name == SO_DOMAIN) {
    known = connection->peer().family;
  } else if (level == SOL_SOCKET && name == SO_PROTOCOL) {
    known = IPPROTO_TCP;
    // SO_ERROR stays 0, because an error of the unix socket is not an error of the connection.
  } else if (level != SOL_SOCKET || name != SO_ERROR) {
    return real::getsockopt(fd, level, name, value, bytes);
  }
  return give_option(&known, sizeof known, value, bytes);
}

HAT_INTERCEPTED int setsockopt(int fd, int level, int name, const void* value,
                               socklen_t bytes) noexcept {
  const auto connection = descriptors::ring(fd);
  if (connection == nullptr || !Options::is_one(level)) {
    return real::setsockopt(tcp_socket(fd), level, name, value, bytes);
  }
  return connection->options().set(level, name, value, bytes);
}
