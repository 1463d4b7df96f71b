// SPDX-License-Identifier: Apache-2.0
#include "engine/fabric/loop/doorbell.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include "base/system_error.h"

namespace hat::engine::loop {

Result<Doorbell> Doorbell::create() {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return fail_errno("loop fabric: socketpair", errno);
  }
  return Doorbell(Descriptor(ends[0]), Descriptor(ends[1]));
}

void Doorbell::ring() const { ring_by(given_.get()); }

// Consumes at most 1,024 rings. If more are left, the descriptor stays readable, and the sleeper
// wakes once more.
void Doorbell::take() {
  std::array<char, 1024> rings;
  [[maybe_unused]] const auto got = recv(own_.get(), rings.data(), rings.size(), MSG_DONTWAIT);
}

// Rings the doorbell. Ignores the result of send(): if the socket is full, the doorbell has been
// rung already, and if the handle is not a socket, it is not the handle of a doorbell.
void ring_by(int handle) {
  [[maybe_unused]] const auto put = send(handle, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

}  // namespace hat::engine::loop
