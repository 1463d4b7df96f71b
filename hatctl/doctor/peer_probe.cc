// SPDX-License-Identifier: Apache-2.0
#include "hatctl/doctor/peer_probe.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/descriptor.h"
#include "base/owned.h"

namespace hat::doctor {
namespace {

// Returns 0 if the connection was made within kConnectTimeout, and otherwise an errno.
int connect_within(const sockaddr* to, socklen_t length) {
  const Descriptor fd(socket(to->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (fd.get() < 0) return errno;
  if (connect(fd.get(), to, length) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  pollfd wait{fd.get(), POLLOUT, 0};
  if (poll(&wait, 1, static_cast<int>(kConnectTimeout.count())) != 1) return ETIMEDOUT;
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

std::string numeric(const sockaddr* address, socklen_t length) {
  std::array<char, NI_MAXHOST> text{};
  getnameinfo(address, length, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST);
  return text.data();
}

// Sets own_ip and path_mtu of the probe. Connects a UDP socket to `to`: the kernel then chooses a
// route, but sends no packet.
void look_at_the_way(const addrinfo& to, PeerProbe& probe) {
  const Descriptor fd(socket(to.ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (fd.get() < 0 || connect(fd.get(), to.ai_addr, to.ai_addrlen) != 0) return;
  sockaddr_storage own{};
  socklen_t length = sizeof own;
  if (getsockname(fd.get(), reinterpret_cast<sockaddr*>(&own), &length) == 0) {
    probe.own_ip = numeric(reinterpret_cast<sockaddr*>(&own), length);
  }
  int mtu = 0;
  socklen_t size = sizeof mtu;
  const bool v6 = to.ai_family == AF_INET6;
  if (getsockopt(fd.get(), v6 ? static_cast<int>(IPPROTO_IPV6) : static_cast<int>(IPPROTO_IP),
                 v6 ? IPV6_MTU : IP_MTU, &mtu, &size) == 0) {
    probe.path_mtu = static_cast<uint32_t>(mtu);
  }
}

void note(int error, PeerProbe& probe) {
  probe.connected = error == 0;
  if (error != 0) probe.connect_error = std::strerror(error);
}

void probe_unix(bool connect, PeerProbe& probe) {
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  std::memcpy(to.sun_path, probe.address.path.data(), probe.address.path.size());
  if (connect) note(connect_within(reinterpret_cast<sockaddr*>(&to), sizeof to), probe);
}

}  // namespace

PeerProbe probe_peer(const PeerConfig& peer, bool connect) {
  const Address& address = peer.link;
  PeerProbe probe{.name = peer.name,
                  .address = address,
                  .link = link_text(peer),
                  .resolve_error = peer.why_unknown};
  if (!peer.why_unknown.empty()) return probe;
  if (address.is_path()) {
    probe_unix(connect, probe);
    return probe;
  }
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | AI_NUMERICHOST;
  addrinfo* found = nullptr;
  const int error =
      getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &found);
  if (error != 0) {
    probe.resolve_error = gai_strerror(error);
    return probe;
  }
  const Owned<addrinfo, freeaddrinfo> owned(found);
  probe.ip = numeric(found->ai_addr, found->ai_addrlen);
  look_at_the_way(*found, probe);
  if (connect) note(connect_within(found->ai_addr, found->ai_addrlen), probe);
  return probe;
}

}  // namespace hat::doctor
