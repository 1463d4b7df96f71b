// SPDX-License-Identifier: Apache-2.0
// daemon/reactor/listen_socket.h: a listening socket that the daemon opens or inherits once, and
// that the reactors of all workers share.
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
  // Opens a listening socket. If no process listens on a unix socket's path any more, replaces the
  // file there; the new path gets `mode` and `group`. An error names the address and says what to
  // do.
  static Result<ListenSocket> open(const Address& address, uint32_t mode = 0660,
                                   const std::string& group = "", int type = SOCK_STREAM);
  // Takes ownership of a socket that is already bound to `address`. A unix socket keeps the path,
  // mode and group that its creator set, until own_path(true) is called.
  static Result<ListenSocket> adopt(Descriptor fd, const Address& address);
  // Adopts the inherited socket that is bound to `address`, or opens a new socket if none is. Fails
  // in either case if `group` does not exist.
  static Result<ListenSocket> adopt_or_open(daemon::InheritedSockets& inherited,
                                            const Address& address, uint32_t mode = 0660,
                                            const std::string& group = "", int type = SOCK_STREAM);

  ListenSocket(ListenSocket&& other) noexcept = default;
  ListenSocket& operator=(ListenSocket&&) = delete;
  ~ListenSocket();  // removes a unix socket's path if owns_path()

  // Returns true if the destructor removes the unix socket's path. The process that bound the
  // socket owns the path; in a takeover, ownership moves to the successor.
  bool owns_path() const { return owns_path_; }
  // Sets whether this process owns the unix socket's path. On becoming the owner, sets the path's
  // mode and group to those of this process's configuration.
  void own_path(bool owned);

  int fd() const { return fd_.get(); }
  // Returns the address, with the port that the kernel chose if the configured port was 0.
  const Address& address() const { return address_; }

 private:
  ListenSocket(Descriptor fd, Address address) : fd_(std::move(fd)), address_(std::move(address)) {}

  Descriptor fd_;  // empty after a move
  Address address_;
  uint32_t mode_ = 0660;
  std::string group_;
  bool owns_path_ = false;
};

}  // namespace hat
