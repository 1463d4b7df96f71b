// SPDX-License-Identifier: Apache-2.0
// client/rdma/TServerRdma.h: accepts connections of TRdma and of hatrpcd, without any daemon on
// this host: it takes the place of a TServerSocket (TServerRdma of HatRPC SC'21 4.3).
//
//   auto socket = std::make_shared<hatrpc::TServerRdma>("", 9090, options);
//   TThreadedServer server(processor, socket, transport_factory, protocol_factory);
//
// Clients reach it with a TRdma, or through the hatrpcd of their host with
// `peers: {NAME: {link: "tcp:HOST:PORT"}}`; NAME is the key `node` of RdmaOptions::config, or else
// this host's name. Their functions are answered as the hints of this
// process say (RdmaOptions::manifest), and `allow` rules hold as in a hatrpcd.
//
// Servers  TSimpleServer, TThreadedServer and TThreadPoolServer. TNonblockingServer reads sockets
//          itself, so it cannot use this class.
// Cost     Each link has its own thread, event loop and registered memory (`fabric.max_pinned`).
// Errors   TTransportException: NOT_OPEN if the address cannot be used, BAD_ARGS if the options are
//          wrong, INTERRUPTED after interrupt().
// Thread   accept(): one thread at a time; interrupt() and interruptChildren(): any thread.
#ifndef HATRPC_TSERVERRDMA_H
#define HATRPC_TSERVERRDMA_H

#include <thrift/TConfiguration.h>
#include <thrift/transport/TServerTransport.h>

#include <memory>
#include <mutex>
#include <string>

#include "rdma_options.h"

namespace hatrpc {

namespace rdma {
class Listening;
}

class __attribute__((visibility("default"))) TServerRdma
    : public apache::thrift::transport::TServerTransport {
 public:
  // Creates a server that listen() binds to `host`:`port`; an empty host is every address, and the
  // kernel chooses a port for 0. `config` applies to the accepted connections.
  TServerRdma(std::string host, int port, RdmaOptions options,
              std::shared_ptr<apache::thrift::TConfiguration> config = nullptr);
  ~TServerRdma() override;

  bool isOpen() const override;
  void listen() override;
  void interrupt() override;
  void interruptChildren() override;
  // Ends all links and their connections.
  void close() override;
  // Returns the port, after listen() the one that the kernel chose.
  int getPort() const;

 protected:
  std::shared_ptr<apache::thrift::transport::TTransport> acceptImpl() override;

 private:
  const std::string host_;
  const int port_;
  const RdmaOptions options_;
  const std::shared_ptr<apache::thrift::TConfiguration> config_;
  std::shared_ptr<rdma::Listening> listening() const;

  mutable std::mutex mutex_;  // protects the pointer: close() can come while interrupt() runs
  std::shared_ptr<rdma::Listening> listening_;  // null while the server does not listen
};

}  // namespace hatrpc

#endif  // HATRPC_TSERVERRDMA_H
