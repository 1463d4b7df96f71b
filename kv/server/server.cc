// SPDX-License-Identifier: Apache-2.0
// kv/server/server.cc: makes libthrift's servers, with their transports and protocols.
#include "kv/server/server.h"

#include <thrift/concurrency/ThreadFactory.h>
#include <thrift/concurrency/ThreadManager.h>
#include <thrift/protocol/TBinaryProtocol.h>
#include <thrift/protocol/TCompactProtocol.h>
#include <thrift/server/TNonblockingServer.h>
#include <thrift/server/TThreadPoolServer.h>
#include <thrift/server/TThreadedServer.h>
#include <thrift/transport/TNonblockingServerSocket.h>
#include <thrift/transport/TServerSocket.h>

#include "client/ring/path_claim.h"
#include "client/thrift/TShmServerSocket.h"
#include "kv/limits.h"
#include "kv/server/transports.h"

namespace hat {
namespace {

namespace concurrency = apache::thrift::concurrency;
namespace protocol = apache::thrift::protocol;
namespace server = apache::thrift::server;
namespace transport = apache::thrift::transport;

class ServerEvents : public server::TServerEventHandler {
 public:
  ServerEvents(Address address, std::function<int()> port, std::atomic<int64_t>& connections,
               std::function<void(const Address&)> on_listening)
      : address_(std::move(address)),
        port_(std::move(port)),
        connections_(connections),
        on_listening_(std::move(on_listening)) {}

  void preServe() override {
    if (!address_.is_path()) address_.port = static_cast<uint16_t>(port_());
    on_listening_(address_);
  }
  void* createContext(std::shared_ptr<protocol::TProtocol>,
                      std::shared_ptr<protocol::TProtocol>) override {
    ++connections_;
    return nullptr;
  }
  void deleteContext(void*, std::shared_ptr<protocol::TProtocol>,
                     std::shared_ptr<protocol::TProtocol>) override {
    --connections_;
  }

 private:
  Address address_;
  std::function<int()> port_;
  std::atomic<int64_t>& connections_;
  std::function<void(const Address&)> on_listening_;
};

std::shared_ptr<concurrency::ThreadManager> make_workers(uint32_t threads) {
  auto workers = concurrency::ThreadManager::newSimpleThreadManager(threads);
  workers->threadFactory(std::make_shared<concurrency::ThreadFactory>());
  workers->start();
  return workers;
}

// Returns a protocol factory with a limit of elements per list. Generated code allocates the number
// of elements that a list declares before it reads the elements. Without the limit, a request of 30
// bytes can make the server run out of memory.
template <class Factory>
std::shared_ptr<protocol::TProtocolFactory> make_bounded() {
  auto factory = std::make_shared<Factory>();
  factory->setContainerSizeLimit(kContainerMax);
  return factory;
}

std::shared_ptr<protocol::TProtocolFactory> make_protocol(bool compact) {
  if (compact) return make_bounded<protocol::TCompactProtocolFactory>();
  return make_bounded<protocol::TBinaryProtocolFactory>();
}

std::shared_ptr<transport::TTransportFactory> make_transport(bool framed) {
  if (framed) return std::make_shared<TransportFactory<FramedTransport>>();
  return std::make_shared<TransportFactory<BufferedTransport>>();
}

struct Wanted {
  const ServeOptions& options;
  const Address& listen;
  std::shared_ptr<apache::thrift::TProcessor> processor;
  std::atomic<int64_t>& connections;
  std::function<void(const Address&)> on_listening;

  std::shared_ptr<ServerEvents> events(std::function<int()> port) const {
    return std::make_shared<ServerEvents>(listen, std::move(port), connections, on_listening);
  }
};

// A TNonblockingServer that waits at its end until its worker threads have ended. libthrift's own
// class destroys connections on which worker threads can still write answers.
class NonblockingServer : public server::TNonblockingServer {
 public:
  using TNonblockingServer::TNonblockingServer;

  // Serves until stop(), and returns after all worker threads have ended.
  void serve() override {
    const Joined workers{getThreadManager()};
    TNonblockingServer::serve();
  }

 private:
  struct Joined {
    std::shared_ptr<concurrency::ThreadManager> workers;
    ~Joined() { workers->stop(); }
  };
};

std::shared_ptr<server::TServer> make_nonblocking(const Wanted& wanted) {
  const Address& listen = wanted.listen;
  auto socket =
      listen.is_path()
          ? std::make_shared<transport::TNonblockingServerSocket>(listen.path)
          : std::make_shared<transport::TNonblockingServerSocket>(listen.host, listen.port);
  auto result =
      std::make_shared<NonblockingServer>(wanted.processor, make_protocol(wanted.options.compact),
                                          socket, make_workers(wanted.options.threads));
  result->setServerEventHandler(wanted.events([socket] { return socket->getListenPort(); }));
  return result;
}

std::shared_ptr<transport::TServerSocket> make_socket(const Address& listen) {
  switch (listen.kind) {
    case Address::Kind::kShm:
      return std::make_shared<hatrpc::TShmServerSocket>(listen.path);
    case Address::Kind::kUnix:
      return std::make_shared<transport::TServerSocket>(listen.path);
    case Address::Kind::kTcp:
      break;
  }
  return std::make_shared<transport::TServerSocket>(listen.host, listen.port);
}

std::shared_ptr<server::TServer> make_blocking(const Wanted& wanted) {
  const ServeOptions& options = wanted.options;
  auto socket = make_socket(wanted.listen);
  const auto events = wanted.events([socket] { return socket->getPort(); });
  if (options.server == ServerKind::kThreadPool && !wanted.listen.uses_rings()) {
    auto result = std::make_shared<server::TThreadPoolServer>(
        wanted.processor, socket, make_transport(options.framed), make_protocol(options.compact),
        make_workers(options.threads));
    result->setServerEventHandler(events);
    return result;
  }
  auto result = std::make_shared<server::TThreadedServer>(
      wanted.processor, socket, make_transport(options.framed), make_protocol(options.compact));
  result->setConcurrentClientLimit(options.connections);
  result->setServerEventHandler(events);
  return result;
}

}  // namespace

Result<std::shared_ptr<server::TServer>> make_server(
    const ServeOptions& options, const Address& listen,
    std::shared_ptr<apache::thrift::TProcessor> processor, std::atomic<int64_t>& connections,
    std::function<void(const Address&)> on_listening) {
  // Remove the stale path of a unix socket. For a ring's path, TShmServerSocket does this itself.
  if (listen.is_path() && !listen.uses_rings()) {
    const hatrpc::ring::PathClaim claim(listen.path.c_str());
  }
  const Wanted wanted{options, listen, std::move(processor), connections, std::move(on_listening)};
  try {
    if (options.server == ServerKind::kNonblocking && !listen.uses_rings())
      return make_nonblocking(wanted);
    return make_blocking(wanted);
  } catch (const std::exception& error) {
    return fail(ErrorCode::kSystem,
                "cannot set up a server at " + to_string(listen) + ": " + error.what());
  }
}

}  // namespace hat
