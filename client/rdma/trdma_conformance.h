// SPDX-License-Identifier: Apache-2.0
// client/rdma/trdma_conformance.h: tests of TRdma and TServerRdma that must pass on every fabric.
#pragma once

#include <gtest/gtest.h>
#include <thrift/transport/TTransport.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "client/rdma/TRdma.h"
#include "client/rdma/TServerRdma.h"

namespace hatrpc {

// A Thrift server that answers each call of `echo`, and counts the other calls, with a thread for
// each connection.
class EchoServer {
 public:
  explicit EchoServer(const RdmaOptions& options);
  ~EchoServer() { stop(); }

  void stop();
  int port() const { return socket_.getPort(); }
  int oneway_calls() const { return oneway_calls_; }
  int connections() const { return connections_; }

 private:
  void accept();
  void serve(apache::thrift::transport::TTransport& client);

  TServerRdma socket_;
  std::atomic<int> oneway_calls_ = 0;
  std::atomic<int> connections_ = 0;
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

// The values of the key `fabric` for the client and for the server.
struct Fabrics {
  std::string client;
  std::string server;
  bool has_lanes = true;
};

class Rdma : public testing::TestWithParam<Fabrics> {
 protected:
  // Returns a client's transport that is open.
  std::unique_ptr<TRdma> connect() const;
  // Makes one call with a string of this size.
  static void call(TRdma& client, size_t bytes);
  static RdmaOptions options(const std::string& fabric);

  EchoServer server_{options(GetParam().server)};
};

}  // namespace hatrpc
