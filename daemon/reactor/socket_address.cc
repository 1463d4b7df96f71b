// SPDX-License-Identifier: Apache-2.0
#include "daemon/reactor/socket_address.h"

#include <netdb.h>
#include <netinet/tcp.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/number.h"
#include "base/owned.h"
#include "base/system_error.h"

namespace hat {

namespace {

Result<SocketAddress> resolve(const Address& address, int flags) {
  SocketAddress result;
  if (address.is_path()) {
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    std::memcpy(name.sun_path, address.path.data(), address.path.size());
    std::memcpy(&result.storage, &name, sizeof name);
    result.length = sizeof name;
    return result;
  }
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | flags;
  addrinfo* found = nullptr;
  const int error =
      getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &found);
  if (error != 0) {
    return fail(ErrorCode::kNotFound,
                to_string(address) + ": the host cannot be looked up: " + gai_strerror(error));
  }
  const Owned<addrinfo, freeaddrinfo> owned(found);
  std::memcpy(&result.storage, found->ai_addr, found->ai_addrlen);
  result.length = found->ai_addrlen;
  return result;
}

}  // namespace

Result<SocketAddress> to_listen_on(const Address& address) { return resolve(address, AI_PASSIVE); }

Result<SocketAddress> to_connect_to(const Address& address) {
  return resolve(address, AI_NUMERICHOST);
}

Address to_address(const SocketAddress& socket_address) {
  const auto* where = reinterpret_cast<const sockaddr*>(&socket_address.storage);
  if (where->sa_family == AF_UNIX) {
    const auto* name = reinterpret_cast<const sockaddr_un*>(where);
    // sun_path ends with a zero byte: `storage` is zeroed, and larger than a sockaddr_un.
    return {Address::Kind::kUnix, "", 0, name->sun_path};
  }
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  getnameinfo(where, socket_address.length, host.data(), host.size(), port.data(), port.size(),
              NI_NUMERICHOST | NI_NUMERICSERV);
  return {Address::Kind::kTcp, host.data(), parse_number<uint16_t>(port.data()).value_or(0), ""};
}

Result<Address> bound_address(int fd) {
  SocketAddress where;
  where.length = sizeof where.storage;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&where.storage), &where.length) != 0) {
    return fail_errno("cannot read a socket's address", errno);
  }
  return to_address(where);
}

std::string as_bound(const std::string& address) {
  return address.starts_with("shm:") ? "unix:" + address.substr(4) : address;
}

void set_tcp_options(int fd, std::chrono::seconds probe_after) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (probe_after.count() == 0) return;
  const auto idle = static_cast<int>(probe_after.count());
  const int interval = 10, probes = 3;
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
}

void refuse_descriptors(int fd) {
  constexpr int kPassRights = 83;  // SO_PASSRIGHTS; Debian 12's headers do not define it
  const int off = 0;
  setsockopt(fd, SOL_SOCKET, kPassRights, &off, sizeof off);
}

}  // namespace hat
