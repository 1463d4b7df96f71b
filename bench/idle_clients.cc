// SPDX-License-Identifier: Apache-2.0
// bench/idle_clients.cc: holds idle connections to an echo server.
//
//   idle_clients ADDRESS CONNECTIONS
//
// ADDRESS is a port of this host, the path of a unix socket, or shm:PATH. The program makes one
// call of 64 B over each connection, prints the number of connections, and then keeps them open
// until a signal ends it.
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/arguments.h"
#include "bench/echo_connection.h"

namespace {

using Connection = std::unique_ptr<hat::bench::EchoClient>;

Connection called(const std::string& address) {
  const std::string request(64, 'x');
  std::string reply;
  Connection connection = hat::bench::connect_echo(address);
  connection->echo(reply, request);
  if (reply != request) throw std::runtime_error("a reply differs from its request");
  return connection;
}

// Parses ADDRESS CONNECTIONS.
hat::Result<hat::Action> parse(const std::vector<std::string>& arguments, std::string& address,
                               uint32_t& count) {
  std::vector<std::string> words;
  hat::Arguments parser("idle_clients");
  parser.words("ADDRESS CONNECTIONS", 2, 2, words);
  HAT_TRY(const hat::Action action, parser.parse(arguments));
  if (action != hat::Action::kRun) return action;
  address = words[0];
  HAT_TRY_VOID(hat::read_number(count, 1u, 65536u)(words[1]));
  return action;
}

constexpr const char* kUsage = "usage: idle_clients ADDRESS CONNECTIONS\n";

}  // namespace

int main(int argc, char** argv) {
  std::string address;
  uint32_t count = 0;
  const auto action = parse({argv + 1, argv + argc}, address, count);
  if (!action) {
    std::fprintf(stderr, "idle_clients: %s\n%s", action.error().message.c_str(), kUsage);
    return 2;
  }
  if (*action != hat::Action::kRun) return std::fputs(kUsage, stdout) < 0;
  std::vector<Connection> connections;
  try {
    while (connections.size() < count) connections.push_back(called(address));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "idle_clients: connection %zu of %u: %s\n", connections.size() + 1, count,
                 error.what());
    return 1;
  }
  std::printf("%zu\n", connections.size());
  std::fflush(stdout);
  for (;;) pause();
}
