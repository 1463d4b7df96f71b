// SPDX-License-Identifier: Apache-2.0
// client/rdma/example/server.cc: `latency_server PORT` serves Latency over RDMA.
#include <thrift/protocol/TBinaryProtocol.h>
#include <thrift/server/TThreadedServer.h>
#include <thrift/transport/TBufferTransports.h>

#include <iostream>
#include <memory>
#include <string>

#include "Latency.h"
#include "client/rdma/TServerRdma.h"  // as installed: <hatrpc/TServerRdma.h>
#include "latency_manifest.h"

namespace thrift = apache::thrift;
using std::make_shared;

class Handler : public example::LatencyIf {
 public:
  void start() override { std::cout << "start" << std::endl; }
  void echo(std::string& reply, const std::string& payload) override { reply = payload; }
  void finish() override { std::cout << "finish" << std::endl; }
};

int main(int, char** argv) {
  hatrpc::RdmaOptions options;
  options.manifest = example::kLatencyManifest;
  options.config = "link: {insecure: true}";
  thrift::server::TThreadedServer server(
      make_shared<example::LatencyProcessor>(make_shared<Handler>()),
      make_shared<hatrpc::TServerRdma>("", std::stoi(argv[1]), options),
      make_shared<thrift::transport::TBufferedTransportFactory>(),
      make_shared<thrift::protocol::TBinaryProtocolFactory>());
  server.serve();
}
