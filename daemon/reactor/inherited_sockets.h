// SPDX-License-Identifier: Apache-2.0
// daemon/reactor/inherited_sockets.h: listening sockets that existed before this process: systemd
// or the daemon that this process takes over from passes them on.
//
// The code that opens the listeners takes the sockets whose addresses the configuration names. The
// destructor closes the sockets that were not taken.
//
// Thread   The main thread, during start-up.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/descriptor.h"

namespace hat::daemon {

struct InheritedSocket {
  std::string name;     // as the giver calls it: systemd's FileDescriptorName=
  std::string address;  // as to_string() writes it, with a numeric host: "tcp:127.0.0.1:9090"
  Descriptor fd;
};

class InheritedSockets {
 public:
  InheritedSockets() = default;
  explicit InheritedSockets(std::vector<InheritedSocket> sockets) : sockets_(std::move(sockets)) {}

  // Removes and returns the socket that is bound to `address`; returns nothing if there is none.
  // The kernel knows all unix sockets as "unix:", so "shm:/run/hatrpcd/kv.ring" also finds
  // "unix:/run/hatrpcd/kv.ring".
  std::optional<Descriptor> take(const std::string& address);
  void add(InheritedSockets more);
  // Returns "ADDRESS (NAME)" for each socket that was not taken.
  std::vector<std::string> left() const;

 private:
  std::vector<InheritedSocket> sockets_;
};

}  // namespace hat::daemon
