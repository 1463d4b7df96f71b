// bench/echo_server.cc: a stock Thrift server, framed binary, one thread per connection.
//
//   echo_server PORT    prints the port that it listens on; port 0 takes a free one
#include <thrift/TConfiguration.h>
#include <thrift/protocol/TBinaryProtocol.h>
#include <thrift/server/TThreadedServer.h>
#include <thrift/transport/TBufferTransports.h>
#include <thrift/transport/TServerSocket.h>
#include <thrift/transport/TSocket.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

#include "Echo.h"

namespace thrift = apache::thrift;

namespace {

class Echo final : public hat::bench::EchoIf {
 public:
  void echo(std::string& result, const std::string& data) override { result = data; }
};

// libthrift gives a connection up after so many bytes in its life; by default 100 MiB.
std::shared_ptr<thrift::TConfiguration> long_life() {
  return std::make_shared<thrift::TConfiguration>(INT32_MAX);
}

class Socket final : public thrift::transport::TServerSocket {
 public:
  using TServerSocket::TServerSocket;

 protected:
  std::shared_ptr<thrift::transport::TSocket> createSocket(THRIFT_SOCKET client) override {
    return std::make_shared<thrift::transport::TSocket>(client, long_life());
  }
};

class Framed final : public thrift::transport::TTransportFactory {
 public:
  std::shared_ptr<thrift::transport::TTransport> getTransport(
      std::shared_ptr<thrift::transport::TTransport> socket) override {
    return std::make_shared<thrift::transport::TFramedTransport>(socket, long_life());
  }
};

struct SayPort final : thrift::server::TServerEventHandler {
  explicit SayPort(std::shared_ptr<thrift::transport::TServerSocket> socket)
      : socket(std::move(socket)) {}
  void preServe() override {
    std::printf("%d\n", socket->getPort());
    std::fflush(stdout);
  }
  std::shared_ptr<thrift::transport::TServerSocket> socket;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: echo_server PORT\n");
    return 2;
  }
  const auto socket = std::make_shared<Socket>("127.0.0.1", std::atoi(argv[1]));
  thrift::server::TThreadedServer server(
      std::make_shared<hat::bench::EchoProcessor>(std::make_shared<Echo>()), socket,
      std::make_shared<Framed>(), std::make_shared<thrift::protocol::TBinaryProtocolFactory>());
  server.setServerEventHandler(std::make_shared<SayPort>(socket));
  server.serve();
}
