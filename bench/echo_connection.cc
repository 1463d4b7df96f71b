// SPDX-License-Identifier: Apache-2.0
#include "bench/echo_connection.h"

#include <thrift/TConfiguration.h>
#include <thrift/protocol/TBinaryProtocol.h>
#include <thrift/transport/TBufferTransports.h>
#include <thrift/transport/TSocket.h>

#include "bench/rdma_address.h"
#include "client/rdma/TRdma.h"
#include "client/thrift/TShmSocket.h"

namespace hat::bench {

std::unique_ptr<EchoClient> connect_echo(const std::string& address) {
  namespace thrift = apache::thrift;
  namespace transport = thrift::transport;
  const auto configuration = std::make_shared<thrift::TConfiguration>(kLifeBytesMax);
  std::shared_ptr<transport::TTransport> socket;
  if (const auto rdma = rdma_address(address)) {
    socket = std::make_shared<hatrpc::TRdma>("127.0.0.1", rdma->port, rdma->options, configuration);
  } else if (address.starts_with("shm:")) {
    socket = std::make_shared<hatrpc::TShmSocket>(address, configuration);
  } else if (address.starts_with('/')) {
    socket = std::make_shared<transport::TSocket>(address, configuration);
  } else {
    socket = std::make_shared<transport::TSocket>("127.0.0.1", std::stoi(address), configuration);
  }
  const auto framed = std::make_shared<transport::TFramedTransport>(socket, configuration);
  framed->open();
  return std::make_unique<EchoClient>(std::make_shared<thrift::protocol::TBinaryProtocol>(framed));
}

}  // namespace hat::bench
