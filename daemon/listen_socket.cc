// daemon/listen_socket.cc: opens the sockets that the workers accept from.
#include <arpa/inet.h>
#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "daemon/libevent_reactor.h"
#include "daemon/socket_address.h"

namespace hat {
namespace {

constexpr int kBacklog = 1024;

std::unexpected<Error> failed(const Address& address, const char* what) {
  std::string advice;
  if (errno == EADDRINUSE) advice = "; another process listens there: `ss -ltnp` names it";
  if (errno == EACCES) advice = "; ports under 1024 and foreign directories need more rights";
  if (errno == ENOENT) advice = "; its directory must exist";
  return fail(to_string(address) + ": " + what + ": " + std::strerror(errno) + advice);
}

// A path that a daemon left behind when it was killed: there, but nobody answers.
bool stale(const SocketAddress& where, int type) {
  const int probe = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
  if (probe < 0) return false;
  const int result =
      connect(probe, reinterpret_cast<const sockaddr*>(&where.storage), where.length);
  const bool refused = result != 0 && errno == ECONNREFUSED;
  close(probe);
  return refused;
}

Result<void> set_owner(const Address& address, uint32_t mode, const std::string& group) {
  if (!group.empty()) {
    const struct group* entry = getgrnam(group.c_str());
    if (entry == nullptr) return fail(to_string(address) + ": there is no group '" + group + "'");
    if (chown(address.path.c_str(), static_cast<uid_t>(-1), entry->gr_gid) != 0) {
      return failed(address, "its group cannot be set");
    }
  }
  if (chmod(address.path.c_str(), mode) != 0) return failed(address, "its mode cannot be set");
  return {};
}

uint16_t bound_port(int fd) {
  sockaddr_storage bound{};
  socklen_t length = sizeof bound;
  getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &length);
  return ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(bound).sin6_port
                                           : reinterpret_cast<sockaddr_in&>(bound).sin_port);
}

}  // namespace

Result<ListenSocket> ListenSocket::open(const Address& address, uint32_t mode,
                                        const std::string& group, int type) {
  HAT_TRY(const SocketAddress where, resolve(address, true));
  const bool unix_socket = address.kind != Address::Kind::kTcp;
  const int fd = socket(where.storage.ss_family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return failed(address, "no socket");
  ListenSocket result(fd, Address{address.kind, address.host, address.port, ""});
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (unix_socket) refuse_descriptors(fd);  // and those that are accepted inherit it
  if (unix_socket && stale(where, type)) unlink(address.path.c_str());
  if (bind(fd, reinterpret_cast<const sockaddr*>(&where.storage), where.length) != 0) {
    return failed(address, "cannot bind");
  }
  result.address_.path = address.path;  // from here on ours to remove
  if (unix_socket) HAT_TRY_VOID(set_owner(address, mode, group));
  if (::listen(fd, kBacklog) != 0) return failed(address, "cannot listen");
  if (!unix_socket) result.address_.port = bound_port(fd);
  return result;
}

Result<ListenSocket> ListenSocket::adopt(Descriptor socket, const Address& address, uint32_t mode,
                                         const std::string& group) {
  int listens = 0;
  socklen_t length = sizeof listens;
  if (getsockopt(socket.get(), SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) != 0 || !listens) {
    return fail(to_string(address) + ": what was handed over for it is no listening socket");
  }
  fcntl(socket.get(), F_SETFL, fcntl(socket.get(), F_GETFL) | O_NONBLOCK);
  ListenSocket result(socket.release(), address);
  result.keeps_path_ = true;
  if (address.kind == Address::Kind::kTcp) {
    result.address_.port = bound_port(result.fd_);
  } else {
    HAT_TRY_VOID(set_owner(address, mode, group));
  }
  return result;
}

ListenSocket::ListenSocket(ListenSocket&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      address_(std::move(other.address_)),
      keeps_path_(other.keeps_path_) {}

ListenSocket::~ListenSocket() {
  if (fd_ < 0) return;
  close(fd_);
  if (!address_.path.empty() && !keeps_path_) unlink(address_.path.c_str());
}

}  // namespace hat
