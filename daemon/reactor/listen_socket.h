// SPDX-License-Identifier: Apache-2.0
// daemon/reactor/listen_socket.h: a listening socket, opened or inherited once, and shared by the
// reactors of all workers.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>

#include "base/address.h"
#include "base/descriptor.h"
#include "base/result.h"
#include "daemon/reactor/inherited_sockets.h"

namespace hat {

class ListenSocket {
 public:
  // Opens a listening socket. Replaces the path of a unix socket on which no process listens any
  // more; the new path gets `mode` and `group`. An error names the address and says what to do.
  static Result<ListenSocket> open(const Address& address, uint32_t mode = 0660,
                                   const std::string& group = "", int type = SOCK_STREAM);
  // Takes a socket that is already bound to `address`. A unix socket keeps the path, mode and group
  // that its creator gave it, unless own_path(true) is called.
  static Result<ListenSocket> adopt(Descriptor fd, const Address& address);
  // Adopts the inherited socket of `address`, or opens one if there is none. In both cases, fails
  // if `group` does not exist.
  static Result<ListenSocket> adopt_or_open(daemon::InheritedSockets& inherited,
                                            const Address& address, uint32_t mode = 0660,
                                            const std::string& group = "", int type = SOCK_STREAM);

  ListenSocket(ListenSocket&& other) noexcept = default;
  ListenSocket& operator=(ListenSocket&&) = delete;
  ~ListenSocket();  // also removes a unix socket's path, if owns_path()

  // Returns true if the destructor removes the unix socket's path. The process that bound the
  // socket owns its path, until a successor that continues with the socket owns it.
  bool owns_path() const { return owns_path_; }
  // Sets whether this process owns the path. A new owner gives the path the mode and the group of
  // its own configuration.
  void own_path(bool owned);

  int fd() const { return fd_.get(); }
  const Address& address() const { return address_; }  // with the port that the kernel chose

 private:
  ListenSocket(Descriptor fd, Address address) : fd_(std::move(fd)), address_(std::move(address)) {}

  Descriptor fd_;  // empty after a move
  Address address_;
  uint32_t mode_ = 0660;
  std::string group_;
  bool owns_path_ = false;
};

}  // namespace hat
