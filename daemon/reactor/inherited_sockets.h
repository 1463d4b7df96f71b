// SPDX-License-Identifier: Apache-2.0
// daemon/reactor/inherited_sockets.h: listening sockets that existed before this process, and that
// systemd or the daemon's predecessor in a takeover passed to it.
//
// The code that opens listeners takes the sockets whose addresses the configuration names. The
// destructor of InheritedSockets closes the sockets that nobody took.
//
// Thread   Only the main thread uses this class, during start-up.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/descriptor.h"

namespace hat::daemon {

struct InheritedSocket {
  std::string name;  // the name that the passing process gave it; from systemd: FileDescriptorName=
  std::string address;  // in the form of to_string(Address), with a numeric host:
                        // "tcp:127.0.0.1:9090"
  Descriptor fd;
};

class InheritedSockets {
 public:
  InheritedSockets() = default;
  explicit InheritedSockets(std::vector<InheritedSocket> sockets) : sockets_(std::move(sockets)) {}

  // Removes and returns the socket that is bound to `address`; returns nothing if there is none. An
  // address "shm:PATH" also finds a socket "unix:PATH", because a listening socket for rings is a
  // unix socket to the kernel.
  std::optional<Descriptor> take(const std::string& address);
  void add(InheritedSockets more);
  // Returns "ADDRESS (NAME)" for each socket that was not taken.
  std::vector<std::string> left() const;

 private:
  std::vector<InheritedSocket> sockets_;
};

}  // namespace hat::daemon
