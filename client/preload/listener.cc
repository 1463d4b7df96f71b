// SPDX-License-Identifier: Apache-2.0
#include "client/preload/listener.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>

#include "client/preload/clock.h"
#include "client/preload/connection.h"
#include "client/preload/descriptors.h"
#include "client/preload/epoll_watches.h"
#include "client/preload/real.h"
#include "client/preload/socket_swap.h"
#include "client/preload/tcp_accept.h"
#include "client/ring/path_claim.h"

namespace hatrpc::preload {
namespace {

constexpr mode_t kMode = 0660;
// show_tcp() looks for duplicates with numbers below this one.
constexpr int kLowNumbers = 10;

bool survives_exec(int fd) {
  const int flags = real::fcntl(fd, F_GETFD, nullptr);
  return flags >= 0 && (flags & FD_CLOEXEC) == 0;
}

ino_t inode_at(const std::string& path) {
  struct stat info {};
  return lstat(path.c_str(), &info) == 0 && S_ISSOCK(info.st_mode) ? info.st_ino : 0;
}

// Sets the mode of the socket's file. Uses a descriptor and not the path: a process that may write
// to the folder could replace the path by a link to another file.
bool set_mode(const std::string& path) {
  const Held file{::open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC)};
  struct stat info {};
  if (file.fd < 0 || fstat(file.fd, &info) != 0) return false;
  if (!S_ISSOCK(info.st_mode)) {
    errno = EADDRINUSE;
    return false;
  }
  // chmod(2) on the descriptor's name, because fchmod(2) refuses an O_PATH descriptor.
  const std::string named = "/proc/self/fd/" + std::to_string(file.fd);
  return chmod(named.c_str(), kMode) == 0;
}

// Makes the kernel reject descriptors that clients send, on Linux 6.16 and later: the kernel would
// have to close them in this process, which can take long. Accepted sockets inherit this setting.
void refuse_descriptors(int fd) {
  constexpr int kPassRights = 83;  // SO_PASSRIGHTS; Debian 12's headers do not define it
  const int off = 0;
  real::setsockopt(fd, SOL_SOCKET, kPassRights, &off, sizeof off);
}

// Returns a non-blocking unix socket that listens at `path`, or -1.
int listen_at(const std::string& path, int backlog) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  refuse_descriptors(fd);
  sockaddr_un address{.sun_family = AF_UNIX};
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  const ring::PathClaim claim(path.c_str());
  // bind(2) creates the file with the mode of the socket, without the bits of the umask. So the
  // file is never open to more users than kMode allows.
  if (fchmod(fd, kMode) == 0 &&
      bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    if (set_mode(path) && real::listen(fd, backlog) == 0) return fd;
    const int error = errno;
    unlink(path.c_str());
    errno = error;
  }
  const int error = errno;
  real::close(fd);
  errno = error;
  return -1;
}

bool add(int epoll, int fd) {
  epoll_event event{.events = EPOLLIN, .data = {.fd = fd}};
  return real::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

// Returns the address that a connection over the ring shows as its own: the one of the rule, but
// never a wildcard address, and with the address family of the socket.
Address shown_address(const Rule& rule, int tcp) {
  Address address = rule.address;
  if (IN6_IS_ADDR_UNSPECIFIED(&address.ip)) address.ip = in6addr_loopback;
  if (IN6_IS_ADDR_V4MAPPED(&address.ip) && address.ip.s6_addr32[3] == INADDR_ANY) {
    address.ip.s6_addr32[3] = htonl(INADDR_LOOPBACK);
  }
  address.family = static_cast<sa_family_t>(socket_option(tcp, SO_DOMAIN));
  return address;
}

// Hides the three descriptors. Returns null if no descriptor is free.
std::shared_ptr<Listener> hide_all(const int (&shown)[3], const Rule& rule) {
  int hidden[3] = {-1, -1, -1};
  for (int i = 0; i < 3; ++i) {
    hidden[i] = descriptors::hide(shown[i]);
    if (hidden[i] >= 0) continue;
    const int error = errno;
    while (i-- > 0) descriptors::close_hidden(hidden[i]);
    errno = error;
    return nullptr;
  }
  return std::make_shared<Listener>(hidden[0], hidden[1], hidden[2], rule);
}

}  // namespace

std::shared_ptr<Listener> Listener::make(int fd, const Rule& rule, int backlog, int& error) {
  const Held ring{listen_at(rule.path, backlog)};
  if (ring.fd < 0) {
    error = errno;
    return nullptr;
  }
  const Held both{epoll_create1(EPOLL_CLOEXEC)};
  auto made = both.fd < 0 ? nullptr : hide_all({fd, ring.fd, both.fd}, rule);
  if (made == nullptr) {
    error = errno;
    unlink(rule.path.c_str());
    return nullptr;
  }
  if (tcp::is_nonblocking(fd)) real::fcntl(both.fd, F_SETFL, reinterpret_cast<void*>(O_NONBLOCK));
  const auto watches = epoll_watches::of(fd);
  if (!add(both.fd, made->tcp_) || !add(both.fd, made->ring_) || !replace(fd, both.fd, watches)) {
    error = errno;
    return nullptr;
  }
  return made;
}

Listener::Listener(int tcp, int ring, int both, const Rule& rule)
    : tcp_(tcp),
      ring_(ring),
      both_(both),
      path_(rule.path),
      path_inode_(inode_at(rule.path)),
      address_(shown_address(rule, tcp)) {}

Listener::~Listener() {
  // Another server can have bound the path in the meantime, if somebody has removed the file.
  if (!is_shared_ && path_inode_ != 0 && inode_at(path_) == path_inode_) unlink(path_.c_str());
  for (const int each : {both_, ring_, tcp_}) descriptors::close_hidden(each);
}

int Listener::accept(int fd, sockaddr* address, socklen_t* bytes, int flags) {
  tcp::Patience patience;
  while (true) {
    const int made = accept_one(address, bytes, flags);
    if (made >= 0 || errno != EAGAIN) return made;
    if (is_nonblocking()) {
      errno = EAGAIN;
      return -1;
    }
    const int error = patience.wait(both_, tcp_);
    if (descriptors::listener(fd).get() != this) return kReplaced;
    if (error == 0) continue;
    errno = error;
    return -1;
  }
}

bool Listener::is_nonblocking() const {
  return (real::fcntl(both_, F_GETFL, nullptr) & O_NONBLOCK) != 0;
}

// Accepts a connection of one of the sockets, alternately beginning with the other one, so that
// many connections of one socket do not delay those of the other. Fails with EAGAIN if neither has
// a connection.
int Listener::accept_one(sockaddr* address, socklen_t* bytes, int flags) {
  const bool ring_first = turn_.fetch_add(1, std::memory_order_relaxed) % 2 == 0;
  for (const bool is_ring : {ring_first, !ring_first}) {
    const int made =
        is_ring ? accept_ring(address, bytes, flags) : tcp::accept_now(tcp_, address, bytes, flags);
    if (made >= 0 || errno != EAGAIN) return made;
  }
  return -1;
}

int Listener::accept_ring(sockaddr* address, socklen_t* bytes, int flags) {
  const int made = real::accept4(ring_, nullptr, nullptr, flags);
  if (made < 0) {
    // After shutdown() the TCP socket alone decides what accept() returns.
    if (errno == EINVAL) errno = EAGAIN;
    return -1;
  }
  descriptors::forget(made);
  carry_over_options(tcp_, made);
  const auto connection =
      made < descriptors::kMax ? Connection::make_accepted(made, address_) : nullptr;
  if (connection == nullptr) {
    real::close(made);
    errno = EMFILE;
    return -1;
  }
  await_greeting(*connection);
  connection->options().take_from(tcp_);
  descriptors::put(made, connection);
  if (address != nullptr) connection->peer().give(address, bytes);
  return made;
}

// Waits for the greeting, so that the client's connect(2) does not have to wait until the program
// uses the connection.
void Listener::await_greeting(Connection& connection) {
  if (connection.meet_within(0) != EAGAIN) return;
  if (now_ms() < trusts_from_ms_.load(std::memory_order_relaxed)) return;
  if (connection.meet_within(kGreetingMs) != EAGAIN) return;
  trusts_from_ms_.store(now_ms() + kTrustAgainMs, std::memory_order_relaxed);
}

int Listener::listen(int backlog) {
  const int result = real::listen(tcp_, backlog);
  if (result == 0) real::listen(ring_, backlog);
  return result;
}

int Listener::shutdown(int how) {
  const int result = real::shutdown(tcp_, how);
  if (result != 0 || how == SHUT_WR) return result;
  real::shutdown(ring_, SHUT_RDWR);
  // The ended socket would make the epoll readable for ever, also after a new listen().
  real::epoll_ctl(both_, EPOLL_CTL_DEL, ring_, nullptr);
  return result;
}

int Listener::lend_tcp() {
  tcp::set_nonblocking(tcp_, is_nonblocking());
  return tcp_;
}

void Listener::show_tcp(int fd) {
  show_tcp_as(fd);
  // The child of a vfork can have duplicated the socket to a low number, for example to give it to
  // the new program as its standard input. The table of descriptors does not record that.
  for (int low = 0; low < kLowNumbers; ++low) {
    if (low != fd) show_tcp_as(low);
  }
}

void Listener::show_tcp_as(int fd) {
  if (!survives_exec(fd)) return;
  // The child of a vfork can also have put another file under this number. Only the epoll of this
  // object has an entry for tcp_.
  epoll_event event{.events = EPOLLIN, .data = {.fd = tcp_}};
  if (real::epoll_ctl(fd, EPOLL_CTL_MOD, tcp_, &event) != 0) return;
  real::dup3(lend_tcp(), fd, 0);
}

void Listener::show_both(int fd) {
  if (!survives_exec(fd) || inode_of(fd) != inode_of(tcp_)) return;
  real::dup3(both_, fd, 0);
}

}  // namespace hatrpc::preload
