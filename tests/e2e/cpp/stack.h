// SPDX-License-Identifier: Apache-2.0
// tests/e2e/cpp/stack.h: makes the transports and protocols of Apache Thrift's C++ library that a
// combination names.
#pragma once

#include <thrift/TConfiguration.h>
#include <thrift/protocol/TProtocol.h>
#include <thrift/transport/TTransport.h>

#include <memory>

#include "client/rdma/rdma_options.h"
#include "tests/e2e/cpp/combination.h"

namespace probe_peer {

// Returns limits that allow the tests' largest messages (16 MiB). libthrift's default limit of a
// frame is 16,384,000 bytes.
std::shared_ptr<apache::thrift::TConfiguration> large_messages();

// Returns the options of a TRdma or a TServerRdma.
hatrpc::RdmaOptions rdma_options(const Combination& combination);

// A client's transport, which is not open yet, and its protocol, which is multiplexed if the
// combination says so.
struct ClientStack {
  std::shared_ptr<apache::thrift::transport::TTransport> transport;
  std::shared_ptr<apache::thrift::protocol::TProtocol> protocol;
};
ClientStack make_client_stack(const Combination& combination);

// Returns the transport factory of a server. For `header`, the factory does nothing, because
// THeaderProtocol makes its own transport.
std::shared_ptr<apache::thrift::transport::TTransportFactory> make_transport_factory(
    const Combination& combination);
std::shared_ptr<apache::thrift::protocol::TProtocolFactory> make_protocol_factory(
    const Combination& combination);

}  // namespace probe_peer
