// SPDX-License-Identifier: Apache-2.0
// client/thrift/TShmServerSocket.h: Thrift's TServerSocket for clients with a TShmSocket, hatrpcd
// among them (`upstream: "shm:/run/kv/kv.ring"`).
//
//   auto socket = std::make_shared<hatrpc::TShmServerSocket>("/run/kv/kv.ring");
//   TThreadedServer server(processor, socket, transport_factory, protocol_factory);
//
// It listens on a unix socket at the path, whose owner and mode say who may connect. listen()
// replaces a socket at the path that nobody listens at any more, as a killed server leaves it; a
// listening server's path and any other kind of file stay, and listen() throws as TServerSocket's.
//
// Works with TSimpleServer, TThreadedServer and TThreadPoolServer. Thread and errors: as
// TServerSocket.
#ifndef HATRPC_TSHMSERVERSOCKET_H
#define HATRPC_TSHMSERVERSOCKET_H

#include <thrift/transport/TServerSocket.h>

#include <memory>
#include <string>

namespace hatrpc {

class __attribute__((visibility("default"))) TShmServerSocket
    : public apache::thrift::transport::TServerSocket {
 public:
  // "shm:" may stand before the path. `config` is for the connections.
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
