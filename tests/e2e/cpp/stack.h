// SPDX-License-Identifier: Apache-2.0
// tests/e2e/cpp/stack.h: puts stock transports and protocols on a socket.
#pragma once

#include <thrift/TConfiguration.h>
#include <thrift/protocol/TProtocol.h>
#include <thrift/transport/TTransport.h>

#include <memory>

#include "tests/e2e/cpp/combination.h"

namespace probe_peer {

// libthrift's own frame limit is 16,384,000 bytes, less than the 16 MiB that the tests carry.
std::shared_ptr<apache::thrift::TConfiguration> large_messages();

// What a client speaks: a transport to open() and a protocol on it (multiplexed where asked for).
struct ClientStack {
  std::shared_ptr<apache::thrift::transport::TTransport> transport;
  std::shared_ptr<apache::thrift::protocol::TProtocol> protocol;
};
ClientStack make_client_stack(const Combination& combination);

// What a server speaks. `header` is not a transport of its own: its protocol brings it.
std::shared_ptr<apache::thrift::transport::TTransportFactory> make_transport_factory(
    const Combination& combination);
std::shared_ptr<apache::thrift::protocol::TProtocolFactory> make_protocol_factory(
    const Combination& combination);

}  // namespace probe_peer
