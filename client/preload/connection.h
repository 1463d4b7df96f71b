// SPDX-License-Identifier: Apache-2.0
// client/preload/connection.h: a connection that the program opened or accepted as a TCP socket,
// and whose bytes travel over a pair of rings.
//
// The program's descriptor is now the unix socket of the rings, and the bytes on that socket are
// doorbells. Therefore poll(2) and epoll work on the descriptor, the descriptor has its own flags
// such as O_NONBLOCK, and the connection ends when the socket ends. This class carries the bytes of
// the stream, in one of two modes:
//
// lazy     No epoll has the descriptor. This side asks for a doorbell only before a thread sleeps
//          or a call returns EAGAIN, so two busy sides make no system call.
// watched  An epoll has the descriptor. This side asks for a doorbell each time that the ring
//          becomes empty.
//
// A connection that the program has accepted begins without rings: its client may not have sent the
// greeting of the handshake (client/ring/handshake.h) yet. The greeting makes the socket readable,
// and the next call on the connection continues the handshake. So a client that stays silent
// occupies one connection of the program, as a silent client over TCP does, and delays no other
// client. Until the handshake is complete, there is nothing to read, and a send waits.
//
// Errors   as of read(2), send(2) and similar calls: -1 and errno. In addition, kReplaced means
//          that another thread has replaced or closed the descriptor: the caller must then call the
//          C library's function.
// Thread   any number of threads, as with a socket.
#pragma once

#include <sys/types.h>

#include <cerrno>
#include <memory>
#include <mutex>
#include <optional>

#include "client/preload/address.h"
#include "client/preload/doorbells.h"
#include "client/preload/fork_shared.h"
#include "client/preload/options.h"
#include "client/preload/parts.h"
#include "client/ring/channel.h"
#include "client/ring/handshake.h"

namespace hatrpc::preload {

class Connection {
 public:
  static constexpr ssize_t kReplaced = -2;

  // Creates a connection with a duplicate of `socket`, and takes ownership of `memory`.
  // `side` is this process's side, and `server` is the TCP address of the accepting side.
  // `doorbells_asked` and `doorbells_due` are the initial Doorbells::Counts. Returns null if the
  // process has no more descriptors or memory.
  static std::shared_ptr<Connection> make(int socket, ring::Memory memory, ring::Side side,
                                          const Address& server, uint32_t doorbells_asked,
                                          uint32_t doorbells_due);
  // Creates a connection with a duplicate of `socket`, which the program has accepted at the
  // address `server`, and begins the handshake. Returns null as make() does.
  static std::shared_ptr<Connection> make_accepted(int socket, const Address& server);
  // Takes ownership of `socket`, which must come from descriptors::hide().
  Connection(int socket, ring::Side side, const Address& server);
  ~Connection();

  // Waits up to `ms` milliseconds for the end of the handshake. Returns 0, EAGAIN if the greeting
  // has not arrived completely, or the error that has ended the handshake.
  int meet_within(int64_t ms);

  // Receives as recvmsg(2) does. `fd` is the program's descriptor; `flags` are MSG_ values.
  ssize_t receive(int fd, const Parts& into, int flags);
  // Sends as sendmsg(2) does.
  ssize_t send(int fd, const Parts& from, int flags);
  int shutdown(int fd, int how);

  // Returns the events that poll(2) would report for a TCP socket: the ones of `events` that have
  // occurred, and POLLHUP or POLLERR if they apply.
  short ready(short events);
  // Prepares a sleep: asks the other side for a doorbell if `events` include data. Returns false if
  // one of `events` has already occurred; then the caller must not sleep. `woken` must be true if
  // the caller's last sleep ended because the socket was readable, although the ring was empty. If
  // `woken` is true and `events` include data, the function also records the end of the socket, and
  // reads a doorbell that this side did not ask for, because either would end the next sleep at
  // once.
  bool may_sleep(short events, bool woken);
  // Records that the other side has closed the socket if `revents`, the events that poll(2) has
  // reported for the socket, show this.
  void note(short revents);
  // Changes to the mode "watched", because an epoll has the descriptor from now on: this side asks
  // for a doorbell now, and each time that the ring becomes empty.
  void watch();

  void set_nonblocking(bool is) { state_->nonblocking = is; }
  size_t readable_bytes();
  // Returns the number of bytes that were sent but that the other side has not yet read.
  size_t unread_bytes();
  std::atomic<int64_t>& usual_wait_ns() { return usual_wait_ns_[0]; }

  Address peer() const { return is_acceptor() ? client() : server_; }
  Address local() const { return is_acceptor() ? server_ : client(); }
  const Address& server() const { return server_; }
  bool is_acceptor() const { return side_ == ring::Side::kAcceptor; }
  Options& options() { return options_; }
  ino_t inode() const { return inode_; }
  // Returns -1 if the handshake is not complete.
  int memory_fd() const { return met_.load(std::memory_order_acquire) == 0 ? memory_fd_ : -1; }
  const Doorbells::Counts& doorbells() const { return state_->doorbells; }

  // Records that from now on another process uses this connection, too.
  void share() { is_shared_ = true; }
  // Creates the locks anew in a forked child, where the threads that held them do not exist.
  void forget_threads();

 private:
  struct State {
    Doorbells::Counts doorbells;
    std::atomic<bool> nonblocking;
    std::atomic<bool> reads_shut;
  };
  using Lock = std::unique_lock<std::mutex>;

  // Returns the address that the client shows. A ring has no ports, so the port is made up.
  Address client() const { return server_.from(client_port_); }
  int meet();
  int wait_to_meet(int fd);
  int meet_to_send(bool waits);
  int open(ring::Memory memory, uint32_t doorbells_asked, uint32_t doorbells_due,
           const Lock& reader);
  ssize_t take(const Parts& into, size_t skipped, int flags);
  ssize_t put(const Parts& from, size_t skipped);
  int wait_for_data(int fd);
  int wait_for_space(int fd);
  bool space_comes_soon();
  bool settle(bool asks_kernel, const Lock& reader);
  bool has_data();
  bool has_data(const Lock& reader);
  bool has_space();
  // Polls the socket without waiting, and returns its events. If they show that the other side has
  // closed the socket, records this.
  short poll_socket();

  ForkShared<State> state_;  // the first member, because its constructor is the only one that fails
  const int socket_;
  const ring::Side side_;
  const Address server_;
  const in_port_t client_port_;
  const ino_t inode_;
  // 0 if the handshake is complete; only then channel_ and memory_fd_ can be used. EAGAIN if it is
  // not complete yet, or else the errno value of its failure.
  std::atomic<int> met_ = EAGAIN;
  std::optional<ring::Handshake> handshake_;
  std::optional<ring::Channel> channel_;
  int memory_fd_ = -1;
  Doorbells doorbells_{state_->doorbells};
  Options options_;
  std::mutex reader_;
  std::mutex writer_;
  std::atomic<bool> is_watched_ = false;
  std::atomic<bool> is_shared_ = false;
  std::atomic<uint32_t> unanswered_writes_ = 0;
  // How long recent waits took: [0] of readers for data, [1] of writers for space.
  std::atomic<int64_t> usual_wait_ns_[2]{};
};

}  // namespace hatrpc::preload
