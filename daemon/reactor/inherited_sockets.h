// SPDX-License-Identifier: Apache-2.0
// daemon/reactor/inherited_sockets.h: listening sockets that were there before this process:
// systemd keeps them for it, or a daemon that it takes over from.
//
// Whoever opens the listeners takes those whose addresses the configuration names; what nobody has
// taken is closed with the object.
//
// Thread   the main thread's, at the start.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/descriptor.h"

namespace hat::daemon {

struct InheritedSocket {
  std::string name;     // what the giver calls it: systemd's FileDescriptorName=
  std::string address;  // as to_string() spells it, its host in digits: "tcp:127.0.0.1:9090"
  int fd = -1;
};

class InheritedSockets {
 public:
  InheritedSockets() = default;
  // Owns the descriptors from here on.
  explicit InheritedSockets(const std::vector<InheritedSocket>& sockets);

  // The socket bound there, once; nothing where there is none. A unix socket is one by any name:
  // "shm:/run/hatrpcd/kv.ring" is found at "unix:/run/hatrpcd/kv.ring".
  std::optional<Descriptor> take(const std::string& address);
  void add(InheritedSockets more);
  // "ADDRESS (NAME)" of each that nobody has taken.
  std::vector<std::string> left() const;

 private:
  struct Held {
    InheritedSocket what;
    Descriptor fd;
  };
  std::vector<Held> sockets_;
};

}  // namespace hat::daemon
