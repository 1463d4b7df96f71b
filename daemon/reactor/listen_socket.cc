// SPDX-License-Identifier: Apache-2.0
#include "daemon/reactor/listen_socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <glog/logging.h>
#include <grp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "base/system_error.h"
#include "client/ring/path_claim.h"
#include "daemon/reactor/socket_address.h"

namespace hat {
namespace {

constexpr int kBacklog = 1024;

std::unexpected<Error> failed(const Address& address, const char* what) {
  std::string advice;
  if (errno == EADDRINUSE) {
    advice =
        address.path.empty()
            ? "; another process listens there: `ss -ltnp` names it"
            : "; another process listens there (`ss -lxp` names it), or the path is a file that "
              "is not a socket";
  }
  if (errno == EACCES)
    advice =
        "; a port below 1024 requires CAP_NET_BIND_SERVICE, a unix socket write permission for its "
        "directory";
  if (errno == ENOENT) advice = "; its directory must exist";
  return fail(code_of_errno(errno),
              to_string(address) + ": " + what + ": " + std::strerror(errno) + advice);
}

constexpr auto kNoGroup = static_cast<gid_t>(-1);  // chown(2) keeps the group if it gets this value

Result<gid_t> group_of(const Address& address, const std::string& group) {
  if (group.empty()) return kNoGroup;
  const struct group* entry = getgrnam(group.c_str());
  if (entry == nullptr)
    return fail(ErrorCode::kNotFound, to_string(address) + ": there is no group '" + group + "'");
  return entry->gr_gid;
}

Result<void> set_owner(const Address& address, uint32_t mode, const std::string& group) {
  HAT_TRY(const gid_t id, group_of(address, group));
  // Uses a descriptor and not the path: a process that may write to the directory could replace the
  // path by a link to another file between two calls.
  const Descriptor file(open(address.path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat info {};
  if (file.get() < 0 || fstat(file.get(), &info) != 0)
    return failed(address, "the socket's file has been removed");
  if (!S_ISSOCK(info.st_mode)) {
    return fail(ErrorCode::kBusy,
                to_string(address) +
                    ": another file has replaced the socket; check who may write to its directory");
  }
  constexpr auto kSameUser = static_cast<uid_t>(-1);
  if (id != kNoGroup && fchownat(file.get(), "", kSameUser, id, AT_EMPTY_PATH) != 0) {
    return failed(address, "its group cannot be set");
  }
  // Uses chmod(2) on the descriptor's name, because fchmod(2) refuses an O_PATH descriptor.
  const std::string named = "/proc/self/fd/" + std::to_string(file.get());
  if (chmod(named.c_str(), mode) != 0) return failed(address, "its mode cannot be set");
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
  HAT_TRY(const SocketAddress where, to_listen_on(address));
  const bool unix_socket = address.is_path();
  const int fd = socket(where.storage.ss_family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return failed(address, "cannot create a socket");
  ListenSocket result(Descriptor(fd), address);
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (unix_socket) refuse_descriptors(fd);       // accepted sockets inherit this setting
  std::optional<hatrpc::ring::PathClaim> claim;  // held until the socket listens
  if (unix_socket) claim.emplace(address.path.c_str(), type);
  if (bind(fd, reinterpret_cast<const sockaddr*>(&where.storage), where.length) != 0) {
    return failed(address, "cannot bind");
  }
  result.owns_path_ = unix_socket;
  result.mode_ = mode;
  result.group_ = group;
  if (unix_socket) HAT_TRY_VOID(set_owner(address, mode, group));
  if (::listen(fd, kBacklog) != 0) return failed(address, "cannot listen");
  if (!unix_socket) result.address_.port = bound_port(fd);
  return result;
}

Result<ListenSocket> ListenSocket::adopt(Descriptor fd, const Address& address) {
  ListenSocket result(std::move(fd), address);
  const bool unix_socket = address.is_path();
  const int flags = fcntl(result.fd(), F_GETFL);
  if (flags < 0 || fcntl(result.fd(), F_SETFL, flags | O_NONBLOCK) != 0) {
    return failed(address, "the socket that was handed over cannot be used");
  }
  if (unix_socket) refuse_descriptors(result.fd());
  // The socket listens already; this call sets its backlog.
  if (::listen(result.fd(), kBacklog) != 0) return failed(address, "cannot listen");
  if (!unix_socket) result.address_.port = bound_port(result.fd());
  return result;
}

Result<ListenSocket> ListenSocket::adopt_or_open(daemon::InheritedSockets& inherited,
                                                 const Address& address, uint32_t mode,
                                                 const std::string& group, int type) {
  // Resolves `address`: the configuration may give a host name, and an inherited socket's address
  // is numeric.
  HAT_TRY(const SocketAddress where, to_listen_on(address));
  auto fd = inherited.take(to_string(to_address(where)));
  if (!fd) return open(address, mode, group, type);
  LOG(INFO) << to_string(address) << ": takes the socket that was handed over";
  HAT_TRY_VOID(group_of(address, group));
  HAT_TRY(ListenSocket socket, adopt(std::move(*fd), address));
  socket.mode_ = mode;
  socket.group_ = group;
  return socket;
}

void ListenSocket::own_path(bool owned) {
  if (!std::exchange(owns_path_, owned) && owned) {
    if (const auto set = set_owner(address_, mode_, group_); !set)
      LOG(ERROR) << set.error().message;
  }
}

ListenSocket::~ListenSocket() {
  if (fd_.get() >= 0 && owns_path_ && !address_.path.empty()) unlink(address_.path.c_str());
}

}  // namespace hat
