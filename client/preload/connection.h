// SPDX-License-Identifier: Apache-2.0
// client/preload/connection.h: a program's TCP socket whose bytes travel over a ring instead.
//
// The program's descriptor is the ring's unix socket, and the bytes on that socket are doorbells.
// So the kernel's poll(2) and epoll work on it, O_NONBLOCK and other flags are the descriptor's
// own, and the socket's end is the ring's end. This class carries the bytes of the stream.
//
// lazy     no epoll has the descriptor. This side asks for doorbells only before a thread sleeps or
//          a call returns EAGAIN, so two sides that are busy make no system call.
// watched  an epoll has the descriptor. This side asks for a doorbell whenever the ring becomes
//          empty.
//
// Errors   as read(2), send(2) and similar calls: -1 and errno. kReplaced: another thread replaced
//          or closed the descriptor meanwhile; the caller then makes the C library's call.
// Thread   any number of threads, as with a socket.
#pragma once

#include <sys/types.h>

#include <memory>
#include <mutex>

#include "client/preload/address.h"
#include "client/preload/doorbells.h"
#include "client/preload/fork_shared.h"
#include "client/preload/options.h"
#include "client/preload/parts.h"
#include "client/ring/channel.h"

namespace hatrpc::preload {

class Connection {
 public:
  static constexpr ssize_t kReplaced = -2;

  // Duplicates `socket`, and takes ownership of the memory. Returns null if descriptors or memory
  // are exhausted.
  static std::shared_ptr<Connection> make(int socket, ring::Memory memory, const Address& peer,
                                          uint32_t doorbells_asked, uint32_t doorbells_due);
  // Takes ownership of both descriptors, which must come from descriptors::hide().
  Connection(int socket, int memory_fd, ring::Memory memory, const Address& peer);
  ~Connection();

  // `fd` is the program's descriptor; `flags` are MSG_*.
  ssize_t receive(int fd, const Parts& into, int flags);
  ssize_t send(int fd, const Parts& from, int flags);
  int shutdown(int fd, int how);

  // Returns the events that poll(2) would report for a TCP socket: those of `events` that hold, and
  // POLLHUP and POLLERR.
  short ready(short events);
  // Asks for a doorbell for data, if `events` include data. Returns false if one of `events` holds
  // already. `woken`: the socket became readable during the last sleep, but the ring had nothing.
  bool may_sleep(short events, bool woken);
  void note(short revents);  // `revents`: poll(2)'s, for the socket
  void watch();              // an epoll has the descriptor from now on

  void set_nonblocking(bool is) { state_->nonblocking = is; }
  size_t readable_bytes();
  size_t unread_bytes();  // sent, and not yet read by the other side
  std::atomic<int64_t>& usual_wait_ns() { return usual_wait_ns_[0]; }

  const Address& peer() const { return peer_; }
  Address local() const { return peer_.from(local_port_); }
  Options& options() { return options_; }
  ino_t inode() const { return inode_; }
  int memory_fd() const { return memory_fd_; }
  const Doorbells::Counts& doorbells() const { return state_->doorbells; }

  // Records that another process uses the connection too, from now on.
  void share() { is_shared_ = true; }
  // Renews the locks in a forked child, in which the threads that held them do not exist.
  void forget_threads();

 private:
  struct State {
    Doorbells::Counts doorbells;
    std::atomic<bool> nonblocking;
    std::atomic<bool> reads_shut;
  };
  using Lock = std::unique_lock<std::mutex>;

  ssize_t take(const Parts& into, size_t skipped, int flags);
  ssize_t put(const Parts& from, size_t skipped);
  int wait_for_data(int fd);
  int wait_for_space(int fd);
  bool space_comes_soon();
  bool settle(bool asks_kernel, const Lock& reader);
  bool has_data();
  bool has_data(const Lock& reader);
  bool has_space();
  // Polls the socket without waiting, notes its end, and returns its events.
  short poll_socket();

  ForkShared<State> state_;  // first: only its constructor may fail
  ring::Channel channel_;
  const int memory_fd_;
  const Address peer_;
  const in_port_t local_port_;
  const ino_t inode_;
  Doorbells doorbells_{state_->doorbells};
  Options options_;
  std::mutex reader_;
  std::mutex writer_;
  std::atomic<bool> is_watched_ = false;
  std::atomic<bool> is_shared_ = false;
  std::atomic<uint32_t> unanswered_writes_ = 0;
  // Recent wait: [0] for data (readers), [1] for space (writers).
  std::atomic<int64_t> usual_wait_ns_[2]{};
};

}  // namespace hatrpc::preload
