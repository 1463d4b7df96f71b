// SPDX-License-Identifier: Apache-2.0
// daemon/reactor/listen_socket.h: a listening socket, opened or taken over once, and shared by the
// workers' reactors.
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
  // A unix socket's stale path (nobody listens) is replaced; `mode` and `group` are its own.
  // Errors say the address and what to do.
  static Result<ListenSocket> open(const Address& address, uint32_t mode = 0660,
                                   const std::string& group = "", int type = SOCK_STREAM);
  // One that is bound to the address already. The path of a unix socket, its mode and its group
  // stay what whoever bound it has made of them, unless own_path() says otherwise.
  static Result<ListenSocket> adopt(Descriptor fd, const Address& address);
  // Adopts the inherited socket of that address; where there is none, opens one. Errors also where
  // there is no such group.
  static Result<ListenSocket> adopt_or_open(daemon::InheritedSockets& inherited,
                                            const Address& address, uint32_t mode = 0660,
                                            const std::string& group = "", int type = SOCK_STREAM);

  ListenSocket(ListenSocket&& other) noexcept = default;
  ListenSocket& operator=(ListenSocket&&) = delete;
  ~ListenSocket();  // also removes a unix socket's path, if it owns that

  // Who bound a unix socket owns its path, until the process that goes on with it does.
  bool owns_path() const { return owns_path_; }
  // And so whoever comes to own it gives it the mode and the group that its configuration says.
  void own_path(bool owned);

  int fd() const { return fd_.get(); }
  const Address& address() const { return address_; }  // with the port that the kernel chose

 private:
  ListenSocket(Descriptor fd, Address address) : fd_(std::move(fd)), address_(std::move(address)) {}

  Descriptor fd_;  // none: moved from
  Address address_;
  uint32_t mode_ = 0660;
  std::string group_;
  bool owns_path_ = false;
};

}  // namespace hat
