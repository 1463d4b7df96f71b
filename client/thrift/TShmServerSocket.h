// SPDX-License-Identifier: Apache-2.0
// client/thrift/TShmServerSocket.h: Thrift's TServerSocket for clients with a TShmSocket, such as
// hatrpcd (`upstream: "shm:/run/kv/kv.ring"`).
//
//   auto socket = std::make_shared<hatrpc::TShmServerSocket>("/run/kv/kv.ring");
//   TThreadedServer server(processor, socket, transport_factory, protocol_factory);
//
// The server listens on a unix socket at the path; the owner and mode of the path decide which
// processes may connect. listen() replaces a socket at the path if no process listens on it any
// more, as after a server was killed. The path of a listening server and any other kind of file
// stay, and listen() throws as TServerSocket's listen() does.
//
// Works with TSimpleServer, TThreadedServer and TThreadPoolServer. Threads and errors: as
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
  // The path may begin with "shm:". `config` applies to the accepted connections.
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
