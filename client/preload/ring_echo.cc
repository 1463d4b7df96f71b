// SPDX-License-Identifier: Apache-2.0
// client/preload/ring_echo.cc: a server on rings that sends back the bytes it receives, for tests.
//
//   ring_echo PATH [WORDS]
//
// The server listens at PATH. It first sends the text WORDS to each client, and then sends back
// what the client sends, until the client ends the connection.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "client/ring/socket.h"

namespace {

using hatrpc::ring::Side;
using hatrpc::ring::Socket;

void serve(int fd, const std::string& words) {
  std::unique_ptr<Socket> socket;
  if (Socket::open(Side::kAcceptor, fd, 1000, socket) != 0) return;
  if (socket->write_all(words.data(), words.size(), 1000) != 0) return;
  std::vector<char> bytes(100'000);
  ssize_t count = 0;
  while ((count = socket->read(bytes.data(), bytes.size(), hatrpc::ring::kForever)) > 0) {
    if (socket->write_all(bytes.data(), static_cast<size_t>(count), 10'000) != 0) return;
  }
  socket->end_writes();
}

}  // namespace

int main(int count, char** words) {
  sockaddr_un address{.sun_family = AF_UNIX};
  if (count < 2 || std::strlen(words[1]) >= sizeof address.sun_path) return 64;
  std::strcpy(address.sun_path, words[1]);
  const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      listen(listener, 16) != 0) {
    std::perror(words[1]);
    return 1;
  }
  std::puts("listening");
  std::fflush(stdout);
  while (true) {
    const int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd >= 0) std::thread(serve, fd, count > 2 ? words[2] : "").detach();
  }
}
