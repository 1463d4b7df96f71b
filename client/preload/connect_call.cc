// SPDX-License-Identifier: Apache-2.0
// client/preload/connect_call.cc: connect(2), which connects over a ring if the environment
// variable HATRPC_RINGS lists the address.
//
// If anything fails here, the program gets the TCP connection that it has requested.
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>

#include "client/preload/connection.h"
#include "client/preload/descriptors.h"
#include "client/preload/epoll_watches.h"
#include "client/preload/real.h"
#include "client/preload/rules.h"
#include "client/preload/socket_swap.h"
#include "client/ring/handshake.h"

namespace hatrpc::preload {
namespace {

using Clock = std::chrono::steady_clock;

// The time limit for connect(2) on the unix socket, and again for the handshake. During this time
// the program's event loop is blocked. A daemon on the same host usually answers within
// microseconds, and needs longer only if other processes use all cores.
constexpr std::chrono::milliseconds kPatience{2000};

// Returns true if the socket is neither connected nor connecting. The result is false if the
// program calls connect(2) a second time to learn the result of its first call.
bool is_new(int fd) {
  tcp_info info{};
  socklen_t bytes = sizeof info;
  return real::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &bytes) == 0 &&
         info.tcpi_state == TCP_CLOSE;
}

const Rule* rule_for(int fd, const Address& address) {
  for (const Rule& rule : connect_rules()) {
    if (rule.address != address) continue;
    return socket_option(fd, SO_TYPE) == SOCK_STREAM && is_new(fd) ? &rule : nullptr;
  }
  return nullptr;
}

// Returns a connected unix socket, or -1.
int connect_unix(const std::string& path) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  // connect(2) on a unix socket waits for space in the listener's queue, for at most SO_SNDTIMEO.
  const timeval patience{kPatience.count() / 1000, kPatience.count() % 1000 * 1000};
  const timeval none{};
  sockaddr_un address{.sun_family = AF_UNIX};
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  real::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  if (real::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    real::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &none, sizeof none);
    return fd;
  }
  real::close(fd);
  return -1;
}

bool shake_hands(int fd, ring::Memory& memory) {
  const auto until = Clock::now() + kPatience;
  ring::Handshake handshake(ring::Side::kConnector, fd);
  handshake.leave_a_doorbell();
  int error = handshake.step();
  while (error == EAGAIN) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
    pollfd socket{fd, POLLIN, 0};
    if (left.count() <= 0) return false;
    if (real::poll(&socket, 1, static_cast<int>(left.count())) < 0 && errno != EINTR) return false;
    error = handshake.step();
  }
  memory = handshake.take_memory();
  return error == 0;
}

bool connect_ring(int fd, const Address& address, const Rule& rule) {
  const Held socket{connect_unix(rule.path)};
  ring::Memory memory;
  if (socket.fd < 0 || !shake_hands(socket.fd, memory)) return false;
  carry_over_options(fd, socket.fd);
  carry_over_modes(fd, socket.fd, O_NONBLOCK | O_ASYNC);
  Address peer = address;
  peer.family = static_cast<sa_family_t>(socket_option(fd, SO_DOMAIN));
  const auto connection =
      Connection::make(socket.fd, std::move(memory), ring::Side::kConnector, peer, 0, 1);
  if (connection == nullptr) return false;
  connection->options().take_from(fd);
  const auto watches = epoll_watches::of(fd);
  if (!watches.empty()) connection->watch();
  if (!replace(fd, socket.fd, watches)) return false;
  descriptors::put(fd, connection);
  return true;
}

}  // namespace
}  // namespace hatrpc::preload

using namespace hatrpc::preload;

HAT_INTERCEPTED int connect(int fd, const sockaddr* address, socklen_t bytes) {
  const auto to = Address::of(address, bytes);
  if (to && fd >= 0 && fd < descriptors::kMax) {
    if (descriptors::is_ring(fd)) {
      errno = EISCONN;
      return -1;
    }
    const int before = errno;
    const Rule* rule = rule_for(fd, *to);
    if (rule != nullptr && connect_ring(fd, *to, *rule)) return 0;
    errno = before;
  }
  return real::connect(fd, address, bytes);
}
