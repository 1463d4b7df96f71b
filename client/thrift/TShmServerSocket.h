// SPDX-License-Identifier: Apache-2.0
// client/thrift/TShmServerSocket.h: a TServerSocket of Thrift for clients that connect over shared
// memory: clients with a TShmSocket, and hatrpcd with `upstream: "shm:/run/kv/kv.ring"`.
//
//   auto socket = std::make_shared<hatrpc::TShmServerSocket>("/run/kv/kv.ring");
//   TThreadedServer server(processor, socket, transport_factory, protocol_factory);
//
// The server listens on a unix socket at the path; the owner and mode of the path decide which
// processes can connect. If a killed server has left a socket at the path, listen() replaces the
// socket. If another server listens at the path, or the path is another kind of file, listen()
// throws the same exception as TServerSocket::listen().
//
// Servers  TSimpleServer, TThreadedServer and TThreadPoolServer.
// Errors   as of TServerSocket.
// Thread   as for TServerSocket.
#ifndef HATRPC_TSHMSERVERSOCKET_H
#define HATRPC_TSHMSERVERSOCKET_H

#include <thrift/transport/TServerSocket.h>

#include <memory>
#include <string>

namespace hatrpc {

class __attribute__((visibility("default"))) TShmServerSocket
    : public apache::thrift::transport::TServerSocket {
 public:
  // Creates a server socket for `path`, which can begin with "shm:". `config` applies to the
  // accepted connections.
  explicit TShmServerSocket(const std::string& path,
                            std::shared_ptr<apache::thrift::TConfiguration> config = nullptr);

  void listen() override;

 protected:
  std::shared_ptr<apache::thrift::transport::TSocket> createSocket(THRIFT_SOCKET client) override;

 private:
  std::shared_ptr<apache::thrift::TConfiguration> config_;
};

}  // namespace hatrpc

#endif  // HATRPC_TSHMSERVERSOCKET_H
