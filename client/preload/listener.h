// SPDX-License-Identifier: Apache-2.0
// client/preload/listener.h: a listening socket of the program that also accepts connections over
// rings.
//
// The program has one descriptor and waits for it with accept(2), poll(2) or epoll. Therefore the
// program's descriptor becomes an epoll that contains two listening sockets: the program's TCP
// socket, and a unix socket for rings. The kernel reports an epoll as readable while one of its
// sockets has a connection. accept(2) takes the connection from the socket that has one; options,
// names and shutdown(2) go to the TCP socket.
//
// The three descriptors of the two sockets and of the epoll are hidden (descriptors.h). Forked
// children share all of them, so each of several processes that accept gets connections over TCP
// and over rings.
//
// Silent   A client sends its greeting (client/ring/handshake.h) right after connect(2). accept(2)
// clients  waits for the greeting for at most kGreetingMs, and returns the connection in any case
//          (connection.h). After such a wait in vain, accept(2) does not wait for kTrustAgainMs.
//
// Mode     The unix socket has the mode 0660, whatever the umask is: a ring is open to the users of
//          the socket's group, and not to other users as the TCP address is.
// Errors   as of the system calls: -1 and errno. In addition, kReplaced (accept()) means that
//          another thread has replaced or closed the descriptor: the caller must then call the C
//          library's function.
// Thread   any number of threads, as with a socket.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <atomic>
#include <memory>
#include <string>

#include "client/preload/address.h"
#include "client/preload/rules.h"

namespace hatrpc::preload {

class Connection;

class Listener {
 public:
  static constexpr int kReplaced = -2;
  static constexpr int64_t kGreetingMs = 10;
  static constexpr int64_t kTrustAgainMs = 1000;

  // Opens a unix socket at the path of `rule`, and makes the program's descriptor `fd`, a listening
  // TCP socket, accept the connections of both. Returns null and an errno value in `error` if this
  // is impossible; then `fd` is unchanged.
  static std::shared_ptr<Listener> make(int fd, const Rule& rule, int backlog, int& error);
  // Takes ownership of the three descriptors, which must come from descriptors::hide().
  Listener(int tcp, int ring, int both, const Rule& rule);
  // Closes the descriptors. Removes the unix socket's path, unless a forked child can still accept
  // connections there.
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // Accepts as accept4(2) does. `fd` is the program's descriptor.
  int accept(int fd, sockaddr* address, socklen_t* bytes, int flags);
  int listen(int backlog);
  // Shuts down both sockets. A later listen() continues with the TCP socket alone.
  int shutdown(int how);

  // Returns the TCP socket, which still belongs to this object.
  int tcp() const { return tcp_; }
  // Returns the path of the unix socket for rings.
  const std::string& path() const { return path_; }
  // Returns tcp() for another process, after it has set O_NONBLOCK as the program has set it.
  int lend_tcp();
  // Makes `fd`, which the program executed next inherits, refer to the TCP socket. Does the same
  // with the descriptors 0 to 9 if they are duplicates of `fd`.
  void show_tcp(int fd);
  // Makes `fd` refer to both sockets again, after show_tcp().
  void show_both(int fd);

  // Records that from now on another process uses this object, too.
  void share() { is_shared_ = true; }

 private:
  // Returns whether the program has made its descriptor non-blocking.
  bool is_nonblocking() const;
  void show_tcp_as(int fd);
  int accept_one(sockaddr* address, socklen_t* bytes, int flags);
  int accept_ring(sockaddr* address, socklen_t* bytes, int flags);
  void await_greeting(Connection& connection);

  const int tcp_;
  const int ring_;
  const int both_;  // the epoll
  const std::string path_;
  const ino_t path_inode_;
  const Address address_;           // at which clients of the ring believe to be connected
  std::atomic<uint32_t> turn_ = 0;  // its lowest bit decides which socket accept() tries first
  std::atomic<bool> is_shared_ = false;
  std::atomic<int64_t> trusts_from_ms_ = 0;  // CLOCK_MONOTONIC; accept() waits for greetings again
};

}  // namespace hatrpc::preload
