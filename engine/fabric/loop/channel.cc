// SPDX-License-Identifier: Apache-2.0
#include "engine/fabric/loop/channel.h"

#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

#include "base/accept_pause.h"
#include "base/system_error.h"

namespace hat::engine::loop {
namespace {

constexpr int kBacklog = 256;

std::unexpected<Error> system_error(const char* what) {
  return fail_errno(std::string("loop fabric: ") + what, errno);
}

// Returns true if the process at the other end of the connection `fd` belongs to this user. The
// kernel recorded the user when that process called connect() or listen().
bool is_of_this_user(int fd) {
  ucred who{};
  socklen_t length = sizeof who;
  return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &length) == 0 && who.uid == geteuid();
}

}  // namespace

Result<Channel> Channel::connect(const std::string& name, const std::string& folder) {
  if (!is_socket_name(name)) {
    return fail(ErrorCode::kProtocol,
                "loop fabric: the other daemon has sent a name that is not that of its socket");
  }
  Descriptor fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (fd.get() < 0) return system_error("socket");
  HAT_TRY(const auto to, address_of(folder, name));
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to.first), to.second) != 0) {
    return system_error("cannot connect to the other daemon, which must run on this host");
  }
  // Check the user, because the peer chose `name`, and the process that listens under this name
  // gets all memory that this side shares.
  if (!is_of_this_user(fd.get())) {
    return fail(ErrorCode::kDenied,
                "loop fabric: the other daemon belongs to another user; run both daemons as the "
                "same user");
  }
  return Channel(std::move(fd));
}

bool Channel::send(const ChannelMessage& sent, std::initializer_list<int> descriptors) {
  iovec body{const_cast<ChannelMessage*>(&sent), sizeof sent};
  alignas(cmsghdr) std::byte control[CMSG_SPACE(sizeof(int) * kDescriptorsMax)] = {};
  msghdr message{.msg_iov = &body, .msg_iovlen = 1};
  if (descriptors.size() != 0) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(sizeof(int) * descriptors.size());
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int) * descriptors.size());
    std::memcpy(CMSG_DATA(header), descriptors.begin(), sizeof(int) * descriptors.size());
  }
  return sendmsg(fd_.get(), &message, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof sent);
}

Channel::Got Channel::receive(ReceivedMessage& into) {
  iovec body{&into.message, sizeof into.message};
  alignas(cmsghdr) std::byte control[CMSG_SPACE(sizeof(int) * kDescriptorsMax)];
  msghdr message{.msg_iov = &body, .msg_iovlen = 1};
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t count = recvmsg(fd_.get(), &message, MSG_CMSG_CLOEXEC);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return Got::kNothing;
  into.descriptors.clear();
  for (cmsghdr* header = count < 0 ? nullptr : CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    for (size_t at = CMSG_LEN(0); at + sizeof(int) <= header->cmsg_len; at += sizeof(int)) {
      int fd = -1;
      std::memcpy(&fd, reinterpret_cast<const std::byte*>(header) + at, sizeof fd);
      into.descriptors.emplace_back(fd);
    }
  }
  const bool whole = count == static_cast<ssize_t>(sizeof into.message) &&
                     (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0 &&
                     into.message.version == ChannelMessage::kVersion;
  return whole ? Got::kMessage : Got::kEnd;  // a peer that breaks the format counts as gone
}

bool Channel::ended() const {
  pollfd fd{fd_.get(), 0, 0};  // poll() reports the end even if control messages are unread
  return poll(&fd, 1, 0) == 1 && (fd.revents & (POLLHUP | POLLERR)) != 0;
}

Result<ChannelListener> ChannelListener::open(const std::string& folder) {
  ChannelListener listener;
  uint64_t random = 0;
  if (getrandom(&random, sizeof random, 0) != sizeof random) return system_error("getrandom");
  listener.name_ = socket_name(random);
  listener.fd_ = Descriptor(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (listener.fd() < 0) return system_error("socket");
  // A file gets its final name only when the socket listens, because before that the socket looks
  // like that of a dead process (remove_sockets_of_the_dead()).
  const std::string first_name = (folder.empty() ? "" : "new-") + listener.name_;
  HAT_TRY(const auto at, address_of(folder, first_name));
  if (bind(listener.fd(), reinterpret_cast<const sockaddr*>(&at.first), at.second) != 0) {
    return system_error("bind");
  }
  if (!folder.empty()) listener.file_ = SocketFile(folder + "/" + first_name);
  if (listen(listener.fd(), kBacklog) != 0) return system_error("listen");
  if (!folder.empty()) {
    const std::string path = folder + "/" + listener.name_;
    if (rename(at.first.sun_path, path.c_str()) != 0) return system_error("rename");
    listener.file_ = SocketFile(path);
  }
  return listener;
}

std::optional<Channel> ChannelListener::accept() {
  for (;;) {
    Descriptor fd(accept4(fd_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (fd.get() < 0) return accept_must_pause(errno) ? std::nullopt : std::optional(Channel());
    if (is_of_this_user(fd.get())) return Channel(std::move(fd));
  }
}

}  // namespace hat::engine::loop
