// SPDX-License-Identifier: Apache-2.0
// client/preload/option_calls.cc: getpeername, getsockname, getsockopt and setsockopt, which return
// for a ring what they would return for a TCP socket. For a listening socket that also accepts
// rings, they use its TCP socket.
#include <netinet/in.h>
#include <sys/socket.h>

#include <memory>

#include "client/preload/connection.h"
#include "client/preload/descriptors.h"
#include "client/preload/listener.h"
#include "client/preload/real.h"

namespace hatrpc::preload {
namespace {

// `fd`, or the TCP socket of a listening socket that also accepts rings. Keeps the TCP socket open
// as long as this object exists, although another thread can close `fd`.
class TcpSocket {
 public:
  explicit TcpSocket(int fd)
      : listener_(descriptors::listener(fd)), fd_(listener_ == nullptr ? fd : listener_->tcp()) {}
  int fd() const { return fd_; }

 private:
  const std::shared_ptr<Listener> listener_;
  const int fd_;
};

}  // namespace
}  // namespace hatrpc::preload

using namespace hatrpc::preload;

HAT_INTERCEPTED int getpeername(int fd, sockaddr* address, socklen_t* bytes) noexcept {
  const auto connection = descriptors::ring(fd);
  if (connection == nullptr) return real::getpeername(TcpSocket(fd).fd(), address, bytes);
  connection->peer().give(address, bytes);
  return 0;
}

HAT_INTERCEPTED int getsockname(int fd, sockaddr* address, socklen_t* bytes) noexcept {
  const auto connection = descriptors::ring(fd);
  if (connection == nullptr) return real::getsockname(TcpSocket(fd).fd(), address, bytes);
  connection->local().give(address, bytes);
  return 0;
}

HAT_INTERCEPTED int getsockopt(int fd, int level, int name, void* value,
                               socklen_t* bytes) noexcept {
  const auto connection = descriptors::ring(fd);
  if (connection == nullptr) return real::getsockopt(TcpSocket(fd).fd(), level, name, value, bytes);
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
    return real::setsockopt(TcpSocket(fd).fd(), level, name, value, bytes);
  }
  return connection->options().set(level, name, value, bytes);
}
