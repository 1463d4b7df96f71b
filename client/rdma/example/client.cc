// SPDX-License-Identifier: Apache-2.0
// client/rdma/example/client.cc: `latency_client HOST PORT` calls Latency over RDMA.
#include <thrift/protocol/TBinaryProtocol.h>
#include <thrift/transport/TBufferTransports.h>

#include <iostream>
#include <memory>
#include <string>

#include "Latency.h"
#include "client/rdma/TRdma.h"  // as installed: <hatrpc/TRdma.h>
#include "latency_manifest.h"

namespace thrift = apache::thrift;
using std::make_shared;

int main(int, char** argv) {
  hatrpc::RdmaOptions options;
  options.manifest = example::kLatencyManifest;
  options.config = "link: {insecure: true}";
  auto socket = make_shared<hatrpc::TRdma>(argv[1], std::stoi(argv[2]), options);
  auto transport = make_shared<thrift::transport::TBufferedTransport>(socket);
  example::LatencyClient client(make_shared<thrift::protocol::TBinaryProtocol>(transport));
  transport->open();
  client.start();
  std::string reply;
  for (int i = 0; i < 10000; ++i) client.echo(reply, "hello");
  client.finish();
  std::cout << reply << "; " << socket->describe() << std::endl;
  transport->close();
}
