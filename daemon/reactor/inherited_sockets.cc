// SPDX-License-Identifier: Apache-2.0
#include "daemon/reactor/inherited_sockets.h"

#include <algorithm>
#include <iterator>

namespace hat::daemon {
namespace {

// To the kernel, an "shm:" address is a unix socket; nothing shows that the socket serves rings.
std::string as_bound(const std::string& address) {
  return address.starts_with("shm:") ? "unix:" + address.substr(4) : address;
}

}  // namespace

std::optional<Descriptor> InheritedSockets::take(const std::string& address) {
  const auto found = std::ranges::find_if(sockets_, [&](const InheritedSocket& socket) {
    return as_bound(socket.address) == as_bound(address);
  });
  if (found == sockets_.end()) return std::nullopt;
  Descriptor fd = std::move(found->fd);
  sockets_.erase(found);
  return fd;
}

void InheritedSockets::add(InheritedSockets more) {
  std::ranges::move(more.sockets_, std::back_inserter(sockets_));
}

std::vector<std::string> InheritedSockets::left() const {
  std::vector<std::string> left;
  for (const InheritedSocket& socket : sockets_) {
    left.push_back(socket.address + " (" + socket.name + ")");
  }
  return left;
}

}  // namespace hat::daemon
