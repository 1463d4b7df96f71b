// SPDX-License-Identifier: Apache-2.0
// client/preload/connection.h: a program's TCP socket that is a ring in truth.
//
// The program's descriptor is the ring's unix socket, whose bytes are bells: the kernel's poll(2)
// and epoll work on it, blocking and other flags are its own, and its end is the ring's. The bytes
// of the stream go by here.
//
//   lazy      no epoll has it. The other side is asked for bells only where somebody is about to
//             sleep, or was told EAGAIN: two sides that are busy make no system call.
//   watched   an epoll has it: it is asked whenever the ring becomes empty.
//
// Errors   as read(2), send(2) and their like: -1 and errno. kReplaced: the descriptor was replaced
//          or closed by another thread meanwhile, and the caller asks what it is now.
// Thread   any number of them, as with a socket.
#pragma once

#include <sys/types.h>

#include <memory>
#include <mutex>

#include "client/preload/address.h"
#include "client/preload/bells.h"
#include "client/preload/fork_shared.h"
#include "client/preload/options.h"
#include "client/preload/parts.h"
#include "client/ring/channel.h"

namespace hatrpc::preload {

class Connection {
 public:
  static constexpr ssize_t kReplaced = -2;

  // Duplicates `socket`, and takes the memory. Null: no descriptors.
  static std::shared_ptr<Connection> make(int socket, ring::Memory memory, const Address& peer,
                                          uint32_t bells_asked, uint32_t bells_due);
  // Both descriptors: descriptors::hide().
  Connection(int socket, int memory_fd, ring::Memory memory, const Address& peer);
  ~Connection();

  // `fd`: the program's. `flags`: MSG_*.
  ssize_t receive(int fd, const Parts& into, int flags);
  ssize_t send(int fd, const Parts& from, int flags);
  int shutdown(int fd, int how);

  // What poll(2) would say of a TCP socket: of `events`, and POLLHUP and POLLERR.
  short ready(short events);
  // Asks for a bell when there is data, where that is waited for. False: one of `events` is there
  // already. `woken`: the last sleep was for nothing.
  bool may_sleep(short events, bool woken);
  void note(short revents);  // that poll(2) gave for its socket
  void watch();              // an epoll has it, from now on

  void set_nonblocking(bool is) { state_->nonblocking = is; }
  size_t readable_bytes();
  size_t unread_bytes();  // that were sent
  std::atomic<int64_t>& usual_wait_ns() { return usual_wait_ns_[0]; }

  const Address& peer() const { return peer_; }
  Address local() const { return peer_.from(local_port_); }
  Options& options() { return options_; }
  ino_t inode() const { return inode_; }
  int memory_fd() const { return memory_fd_; }
  const Bells::Counts& bells() const { return state_->bells; }

  // Another process has it too, from now on.
  void share() { is_shared_ = true; }
  // The threads that held its locks are not in this process.
  void forget_threads();

 private:
  struct State {
    Bells::Counts bells;
    std::atomic<bool> nonblocking;
    std::atomic<bool> reads_shut;
  };
  using Lock = std::unique_lock<std::mutex>;

  ssize_t take(const Parts& into, size_t skipped, int flags);
  ssize_t put(const Parts& from, size_t skipped);
  int wait_for_data(int fd);
  int wait_for_room(int fd);
  bool room_comes_soon();
  bool settle(bool asks_kernel, const Lock& reader);
  bool has_data();
  bool has_data(const Lock& reader);
  bool has_room();
  // What the kernel says of the socket; its end is noted.
  short look_at_socket();

  ForkShared<State> state_;  // first: only this may fail
  ring::Channel channel_;
  const int memory_fd_;
  const Address peer_;
  const in_port_t local_port_;
  const ino_t inode_;
  Bells bells_{state_->bells};
  Options options_;
  std::mutex reader_;
  std::mutex writer_;
  std::atomic<bool> is_watched_ = false;
  std::atomic<bool> is_shared_ = false;
  std::atomic<uint32_t> unanswered_writes_ = 0;
  std::atomic<int64_t> usual_wait_ns_[2]{};  // of readers, of writers
};

}  // namespace hatrpc::preload
