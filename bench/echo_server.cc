// SPDX-License-Identifier: Apache-2.0
// bench/echo_server.cc: a stock Thrift echo server (framed binary) with one thread per connection.
//
//   echo_server ADDRESS [interruptible]
//
// ADDRESS is a port of this host (0: any free port), the path of a unix socket, shm:PATH, or
// rdma:PORT,CONFIG,MANIFEST (bench/rdma_address.h). When the program listens, it prints its port or
// its path. With `interruptible`, the server could interrupt its
// connections on a socket, as Thrift's servers do by default: each read waits in poll(2) for the
// socket and for an interrupt. Without it, each read waits in recv(2). A connection on a ring can
// always be interrupted.
#include <thrift/TConfiguration.h>
#include <thrift/protocol/TBinaryProtocol.h>
#include <thrift/server/TThreadedServer.h>
#include <thrift/transport/TBufferTransports.h>
#include <thrift/transport/TServerSocket.h>
#include <thrift/transport/TSocket.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "Echo.h"
#include "base/arguments.h"
#include "bench/rdma_address.h"
#include "client/rdma/TServerRdma.h"
#include "client/thrift/TShmServerSocket.h"

namespace thrift = apache::thrift;

namespace {

class Echo final : public hat::bench::EchoIf {
 public:
  void echo(std::string& result, const std::string& data) override { result = data; }
  void bulk(std::string& result, const std::string& data) override { result = data; }
};

// Returns a configuration with the highest limit of bytes per connection. libthrift ends a
// connection after a total number of bytes, by default 100 MiB.
std::shared_ptr<thrift::TConfiguration> long_life() {
  return std::make_shared<thrift::TConfiguration>(INT32_MAX);
}

class Socket final : public thrift::transport::TServerSocket {
 public:
  template <typename... Address>
  explicit Socket(bool interruptible, const Address&... address)
      : TServerSocket(address...), interruptible_(interruptible) {}

 protected:
  std::shared_ptr<thrift::transport::TSocket> createSocket(THRIFT_SOCKET client) override {
    using thrift::transport::TSocket;
    return interruptible_
               ? std::make_shared<TSocket>(client, pChildInterruptSockReader_, long_life())
               : std::make_shared<TSocket>(client, long_life());
  }

 private:
  const bool interruptible_;
};

class Framed final : public thrift::transport::TTransportFactory {
 public:
  std::shared_ptr<thrift::transport::TTransport> getTransport(
      std::shared_ptr<thrift::transport::TTransport> socket) override {
    return std::make_shared<thrift::transport::TFramedTransport>(socket, long_life());
  }
};

// A socket that listens, and a function that returns its port or its path.
struct Listening {
  std::shared_ptr<thrift::transport::TServerTransport> socket;
  std::function<std::string()> address;
};

std::shared_ptr<thrift::transport::TServerSocket> server_socket(const std::string& address,
                                                                bool interruptible) {
  if (address.starts_with("shm:")) {
    return std::make_shared<hatrpc::TShmServerSocket>(address, long_life());
  }
  if (address.starts_with('/')) return std::make_shared<Socket>(interruptible, address);
  return std::make_shared<Socket>(interruptible, "127.0.0.1", std::atoi(address.c_str()));
}

Listening listen_on(const std::string& address, bool interruptible) {
  if (const auto rdma = hat::bench::rdma_address(address)) {
    const auto socket =
        std::make_shared<hatrpc::TServerRdma>("127.0.0.1", rdma->port, rdma->options, long_life());
    return {socket, [socket] { return std::to_string(socket->getPort()); }};
  }
  const auto socket = server_socket(address, interruptible);
  return {socket, [socket] {
            const std::string path = socket->getPath();
            return path.empty() ? std::to_string(socket->getPort()) : path;
          }};
}

struct SayAddress final : thrift::server::TServerEventHandler {
  explicit SayAddress(std::function<std::string()> of) : address(std::move(of)) {}
  void preServe() override {
    std::puts(address().c_str());
    std::fflush(stdout);
  }
  std::function<std::string()> address;
};

// Parses ADDRESS [interruptible].
hat::Result<hat::Action> parse(const std::vector<std::string>& arguments, std::string& address,
                               bool& interruptible) {
  std::vector<std::string> words;
  hat::Arguments parser("echo_server");
  parser.words("ADDRESS [interruptible]", 1, 2, words);
  HAT_TRY(const hat::Action action, parser.parse(arguments));
  if (action != hat::Action::kRun) return action;
  address = words[0];
  if (words.size() == 2) {
    HAT_TRY_VOID(
        hat::read_one_of({"interruptible"}, [&](size_t) { interruptible = true; })(words[1]));
  }
  return action;
}

constexpr const char* kUsage =
    "usage: echo_server ADDRESS [interruptible]\n"
    "ADDRESS: a port, 0 for a free one, a unix socket's path, shm:PATH, or\n"
    "rdma:PORT,CONFIG,MANIFEST\n";

}  // namespace

int main(int argc, char** argv) {
  std::string address;
  bool interruptible = false;
  const auto action = parse({argv + 1, argv + argc}, address, interruptible);
  if (!action) {
    std::fprintf(stderr, "echo_server: %s\n%s", action.error().message.c_str(), kUsage);
    return 2;
  }
  if (*action != hat::Action::kRun) return std::fputs(kUsage, stdout) < 0;
  const Listening listening = listen_on(address, interruptible);
  thrift::server::TThreadedServer server(
      std::make_shared<hat::bench::EchoProcessor>(std::make_shared<Echo>()), listening.socket,
      std::make_shared<Framed>(), std::make_shared<thrift::protocol::TBinaryProtocolFactory>());
  server.setServerEventHandler(std::make_shared<SayAddress>(listening.address));
  server.serve();
}
