// SPDX-License-Identifier: Apache-2.0
// tests/e2e/cpp/server.cc: serves the test service (probe.thrift) with libthrift's servers until
// standard input ends.
#include <thrift/concurrency/ThreadFactory.h>
#include <thrift/concurrency/ThreadManager.h>
#include <thrift/processor/TMultiplexedProcessor.h>
#include <thrift/server/TNonblockingServer.h>
#include <thrift/server/TSimpleServer.h>
#include <thrift/server/TThreadPoolServer.h>
#include <thrift/server/TThreadedServer.h>
#include <thrift/transport/TNonblockingServerSocket.h>
#include <thrift/transport/TServerSocket.h>
#include <thrift/transport/TSocket.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <functional>
#include <future>
#include <stdexcept>
#include <thread>

#include "client/rdma/TServerRdma.h"
#include "client/thrift/TShmServerSocket.h"
#include "tests/e2e/cpp/combination.h"
#include "tests/e2e/cpp/handler.h"
#include "tests/e2e/cpp/stack.h"

namespace probe_peer {
namespace {

namespace concurrency = apache::thrift::concurrency;
namespace server = apache::thrift::server;
namespace transport = apache::thrift::transport;
using apache::thrift::TProcessor;

constexpr size_t kPoolThreads = 16;

class LargeMessageSocket : public transport::TServerSocket {
 public:
  using TServerSocket::TServerSocket;

 protected:
  std::shared_ptr<transport::TSocket> createSocket(THRIFT_SOCKET client) override {
    auto socket = TServerSocket::createSocket(client);
    socket->setConfiguration(large_messages());
    return socket;
  }
};

std::shared_ptr<transport::TServerSocket> make_socket(const Combination& combination) {
  if (combination.is_shm()) {
    return std::make_shared<hatrpc::TShmServerSocket>(combination.path(), large_messages());
  }
  if (combination.is_unix()) return std::make_shared<LargeMessageSocket>(combination.path());
  return std::make_shared<LargeMessageSocket>(combination.host(), combination.port());
}

// A socket that listens when its server begins, and a function that returns its port then.
struct Socket {
  std::shared_ptr<transport::TServerTransport> socket;
  std::function<int()> port;
};

Socket make_listening(const Combination& combination) {
  if (combination.is_rdma()) {
    auto socket = std::make_shared<hatrpc::TServerRdma>(
        combination.host(), combination.port(), rdma_options(combination), large_messages());
    return {socket, [socket] { return socket->getPort(); }};
  }
  auto socket = make_socket(combination);
  return {socket, [socket] { return socket->getPort(); }};
}

class ReportPort : public server::TServerEventHandler {
 public:
  explicit ReportPort(std::function<int()> port) : port_(std::move(port)) {}
  void preServe() override { told_.set_value(port_()); }
  int wait() { return told_.get_future().get(); }

 private:
  std::function<int()> port_;
  std::promise<int> told_;
};

struct Listening {
  std::shared_ptr<server::TServer> server;
  std::shared_ptr<ReportPort> port;
};

std::shared_ptr<TProcessor> make_processor(const Combination& combination,
                                           std::shared_ptr<ProbeHandler> handler) {
  auto plain = std::make_shared<probe::ProbeProcessor>(std::move(handler));
  if (combination.multiplexed.empty()) return plain;
  auto multiplexed = std::make_shared<apache::thrift::TMultiplexedProcessor>();
  multiplexed->registerProcessor(combination.multiplexed, plain);
  return multiplexed;
}

std::shared_ptr<concurrency::ThreadManager> make_pool() {
  auto pool = concurrency::ThreadManager::newSimpleThreadManager(kPoolThreads);
  pool->threadFactory(std::make_shared<concurrency::ThreadFactory>());
  pool->start();
  return pool;
}

Listening make_nonblocking(const Combination& combination,
                           const std::shared_ptr<TProcessor>& processor) {
  auto socket = combination.is_unix()
                    ? std::make_shared<transport::TNonblockingServerSocket>(combination.path())
                    : std::make_shared<transport::TNonblockingServerSocket>(combination.host(),
                                                                            combination.port());
  auto result = std::make_shared<server::TNonblockingServer>(processor, socket);
  const auto factory = make_protocol_factory(combination);
  result->setInputProtocolFactory(factory);
  // With THeader, the protocol that reads a request must also write the reply, so there is no
  // output protocol.
  result->setOutputProtocolFactory(combination.has_header() ? nullptr : factory);
  if (combination.server == "nonblocking_pool") result->setThreadManager(make_pool());
  return {result, std::make_shared<ReportPort>([socket] { return socket->getListenPort(); })};
}

template <class Server, class... Rest>
std::shared_ptr<server::TServer> make_blocking(const Combination& combination,
                                               std::shared_ptr<TProcessor> processor,
                                               std::shared_ptr<transport::TServerTransport> socket,
                                               Rest... rest) {
  const auto transports = make_transport_factory(combination);
  const auto input = make_protocol_factory(combination);
  const auto output = combination.has_header() ? nullptr : input;
  return std::make_shared<Server>(std::move(processor), std::move(socket), transports, transports,
                                  input, output, rest...);
}

Listening make_server(const Combination& combination, std::shared_ptr<ProbeHandler> handler) {
  auto processor = make_processor(combination, std::move(handler));
  if (combination.server.starts_with("nonblocking")) {
    return make_nonblocking(combination, processor);
  }
  const auto [socket, port_of] = make_listening(combination);
  auto port = std::make_shared<ReportPort>(port_of);
  if (combination.server == "simple") {
    return {make_blocking<server::TSimpleServer>(combination, processor, socket), port};
  }
  if (combination.server == "threaded") {
    return {make_blocking<server::TThreadedServer>(combination, processor, socket), port};
  }
  if (combination.server == "threadpool") {
    return {make_blocking<server::TThreadPoolServer>(combination, processor, socket, make_pool()),
            port};
  }
  throw std::invalid_argument("no server named " + combination.server);
}

int run(int argc, char** argv) {
  signal(SIGPIPE, SIG_IGN);
  const auto handler = std::make_shared<ProbeHandler>();
  for (const Combination& combination : read_combinations(argc, argv, "--listen")) {
    const Listening listening = make_server(combination, handler);
    listening.server->setServerEventHandler(listening.port);
    std::thread([server = listening.server] { server->serve(); }).detach();
    const int port = listening.port->wait();
    if (combination.is_unix() || combination.is_shm()) {
      std::printf("listening on %s\n", combination.address.c_str());
    } else {
      std::printf("listening on %s%s:%d\n", combination.is_rdma() ? "rdma:" : "",
                  combination.host().c_str(), port);
    }
    std::fflush(stdout);
  }
  char ignored[64];
  while (read(STDIN_FILENO, ignored, sizeof(ignored)) > 0) continue;
  _exit(0);  // ends the serving threads, which never return
}

}  // namespace
}  // namespace probe_peer

int main(int argc, char** argv) {
  try {
    return probe_peer::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "probe_server: %s\n", error.what());
    return 64;
  }
}
