// SPDX-License-Identifier: Apache-2.0
// client/preload/listen_calls.cc: listen(2) and accept(2). If the environment variable
// HATRPC_LISTEN_RINGS lists the address of a listening socket, the socket also accepts connections
// over rings.
//
// If anything fails in listen(2), the program gets the TCP socket that it has requested, and this
// library prints the reason on standard error.
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "client/preload/descriptors.h"
#include "client/preload/listener.h"
#include "client/preload/real.h"
#include "client/preload/rules.h"
#include "client/preload/socket_swap.h"
#include "client/preload/tcp_accept.h"

namespace hatrpc::preload {
namespace {

const Rule* rule_for(int fd) {
  if (listen_rules().empty() || fd < 0 || fd >= descriptors::kMax) return nullptr;
  sockaddr_storage name{};
  socklen_t bytes = sizeof name;
  auto* address = reinterpret_cast<sockaddr*>(&name);
  if (real::getsockname(fd, address, &bytes) != 0) return nullptr;
  const auto bound = Address::of(address, bytes);
  if (!bound || socket_option(fd, SO_TYPE) != SOCK_STREAM) return nullptr;
  for (const Rule& rule : listen_rules()) {
    if (rule.covers(*bound)) return &rule;
  }
  return nullptr;
}

void accept_rings(int fd, const Rule& rule, int backlog) {
  // A program that listens at `localhost` has a socket for each of its addresses; one ring is
  // enough for all of them.
  if (descriptors::listens_at(rule.path)) return;
  int error = 0;
  if (auto listener = Listener::make(fd, rule, backlog, error)) {
    descriptors::put_listener(fd, std::move(listener));
    return;
  }
  std::fprintf(stderr,
               "libhatrpc-preload: HATRPC_LISTEN_RINGS: cannot listen at %s: %s%s; the program "
               "accepts connections over TCP alone\n",
               rule.path.c_str(), std::strerror(error),
               error == EADDRINUSE ? " (`ss -lxp` names the process that listens there)" : "");
}

}  // namespace
}  // namespace hatrpc::preload

using namespace hatrpc::preload;

HAT_INTERCEPTED int listen(int fd, int backlog) noexcept {
  if (const auto listener = descriptors::listener(fd)) return listener->listen(backlog);
  const int result = real::listen(fd, backlog);
  if (result != 0) return result;
  const int before = errno;
  if (const Rule* rule = rule_for(fd)) accept_rings(fd, *rule, backlog);
  errno = before;
  return result;
}

HAT_INTERCEPTED int accept4(int fd, sockaddr* address, socklen_t* bytes, int flags) {
  while (const auto listener = descriptors::listener(fd)) {
    const int made = listener->accept(fd, address, bytes, flags);
    if (made != Listener::kReplaced) return made;
  }
  // The TCP socket of a rule can also be the one of a Listener in another process, or under another
  // descriptor of this process.
  if (rule_for(fd) != nullptr && socket_option(fd, SO_ACCEPTCONN) == 1) {
    return tcp::accept(fd, address, bytes, flags);
  }
  const int made = real::accept4(fd, address, bytes, flags);
  if (made >= 0) descriptors::forget(made);
  return made;
}

HAT_INTERCEPTED int accept(int fd, sockaddr* address, socklen_t* bytes) {
  return accept4(fd, address, bytes, 0);
}
