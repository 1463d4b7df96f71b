// kv/server.cc: puts libthrift's servers, transports and protocols together.
#include "kv/server.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <thrift/concurrency/ThreadFactory.h>
#include <thrift/concurrency/ThreadManager.h>
#include <thrift/protocol/TBinaryProtocol.h>
#include <thrift/protocol/TCompactProtocol.h>
#include <thrift/server/TNonblockingServer.h>
#include <thrift/server/TThreadPoolServer.h>
#include <thrift/server/TThreadedServer.h>
#include <thrift/transport/TBufferTransports.h>
#include <thrift/transport/TNonblockingServerSocket.h>
#include <thrift/transport/TServerSocket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace hat {
namespace {

namespace concurrency = apache::thrift::concurrency;
namespace protocol = apache::thrift::protocol;
namespace server = apache::thrift::server;
namespace transport = apache::thrift::transport;

class TellListening : public server::TServerEventHandler {
 public:
  TellListening(Address address, std::function<int()> port,
                std::function<void(const Address&)> on_listening)
      : address_(std::move(address)),
        port_(std::move(port)),
        on_listening_(std::move(on_listening)) {}

  void preServe() override {
    if (address_.kind == Address::Kind::kTcp) address_.port = static_cast<uint16_t>(port_());
    on_listening_(address_);
  }

 private:
  Address address_;
  std::function<int()> port_;
  std::function<void(const Address&)> on_listening_;
};

// A socket file that a killed server left behind keeps bind() from working; one that answers is
// another server's, and bind() shall say so.
void remove_stale_socket(const std::string& path) {
  const int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (probe < 0) return;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  const int rc = connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  if (rc < 0 && errno == ECONNREFUSED) unlink(path.c_str());
  close(probe);
}

std::shared_ptr<concurrency::ThreadManager> make_workers(uint32_t threads) {
  auto workers = concurrency::ThreadManager::newSimpleThreadManager(threads);
  workers->threadFactory(std::make_shared<concurrency::ThreadFactory>());
  workers->start();
  return workers;
}

std::shared_ptr<protocol::TProtocolFactory> make_protocol(bool compact) {
  if (compact) return std::make_shared<protocol::TCompactProtocolFactory>();
  return std::make_shared<protocol::TBinaryProtocolFactory>();
}

std::shared_ptr<transport::TTransportFactory> make_transport(bool framed) {
  if (framed) return std::make_shared<transport::TFramedTransportFactory>();
  return std::make_shared<transport::TBufferedTransportFactory>();
}

std::shared_ptr<server::TServer> make_nonblocking(
    const KvOptions& options, std::shared_ptr<apache::thrift::TProcessor> processor,
    std::function<void(const Address&)> on_listening) {
  const Address& listen = options.listen;
  auto socket =
      listen.kind == Address::Kind::kUnix
          ? std::make_shared<transport::TNonblockingServerSocket>(listen.path)
          : std::make_shared<transport::TNonblockingServerSocket>(listen.host, listen.port);
  auto result = std::make_shared<server::TNonblockingServer>(
      std::move(processor), make_protocol(options.compact), socket, make_workers(options.threads));
  result->setServerEventHandler(std::make_shared<TellListening>(
      listen, [socket] { return socket->getListenPort(); }, std::move(on_listening)));
  return result;
}

std::shared_ptr<server::TServer> make_blocking(
    const KvOptions& options, std::shared_ptr<apache::thrift::TProcessor> processor,
    std::function<void(const Address&)> on_listening) {
  const Address& listen = options.listen;
  auto socket = listen.kind == Address::Kind::kUnix
                    ? std::make_shared<transport::TServerSocket>(listen.path)
                    : std::make_shared<transport::TServerSocket>(listen.host, listen.port);
  std::shared_ptr<server::TServer> result;
  if (options.server == ServerKind::kThreadPool) {
    result = std::make_shared<server::TThreadPoolServer>(
        std::move(processor), socket, make_transport(options.framed),
        make_protocol(options.compact), make_workers(options.threads));
  } else {
    result = std::make_shared<server::TThreadedServer>(std::move(processor), socket,
                                                       make_transport(options.framed),
                                                       make_protocol(options.compact));
  }
  result->setServerEventHandler(std::make_shared<TellListening>(
      listen, [socket] { return socket->getPort(); }, std::move(on_listening)));
  return result;
}

}  // namespace

Result<std::shared_ptr<server::TServer>> make_server(
    const KvOptions& options, std::shared_ptr<apache::thrift::TProcessor> processor,
    std::function<void(const Address&)> on_listening) {
  if (options.listen.kind == Address::Kind::kUnix) remove_stale_socket(options.listen.path);
  try {
    if (options.server == ServerKind::kNonblocking) {
      return make_nonblocking(options, std::move(processor), std::move(on_listening));
    }
    return make_blocking(options, std::move(processor), std::move(on_listening));
  } catch (const std::exception& error) {
    return fail("cannot set up a server at " + to_string(options.listen) + ": " + error.what());
  }
}

}  // namespace hat
