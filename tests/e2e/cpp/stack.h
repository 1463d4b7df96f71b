// SPDX-License-Identifier: Apache-2.0
// tests/e2e/cpp/stack.h: builds stock transports and protocols on a socket.
#pragma once

#include <thrift/TConfiguration.h>
#include <thrift/protocol/TProtocol.h>
#include <thrift/transport/TTransport.h>

#include <memory>

#include "tests/e2e/cpp/combination.h"

namespace probe_peer {

// Returns limits for large messages: libthrift's own frame limit is 16,384,000 bytes, less than the
// 16 MiB that the tests carry.
std::shared_ptr<apache::thrift::TConfiguration> large_messages();

// The layers of a client: a transport to open(), and a protocol on it (multiplexed if requested).
struct ClientStack {
  std::shared_ptr<apache::thrift::transport::TTransport> transport;
  std::shared_ptr<apache::thrift::protocol::TProtocol> protocol;
};
ClientStack make_client_stack(const Combination& combination);

// Returns the transports of a server. `header` is not a transport of its own: its protocol brings
// it.
std::shared_ptr<apache::thrift::transport::TTransportFactory> make_transport_factory(
    const Combination& combination);
std::shared_ptr<apache::thrift::protocol::TProtocolFactory> make_protocol_factory(
    const Combination& combination);

}  // namespace probe_peer
