// SPDX-License-Identifier: Apache-2.0
// bench/atb/transports.h: creates framed Thrift transports over TCP, unix sockets or rings.
//
// These transports apply libthrift's limit of a message (100 MiB) to each message. libthrift's own
// framed transport applies it to the sum of all messages, and so ends a connection after 100 MiB.
#pragma once

#include <thrift/transport/TBufferTransports.h>
#include <thrift/transport/TServerSocket.h>

#include <memory>

#include "base/address.h"

namespace hat::atb {

// Returns a client's transport, which is not open yet. Its reads and writes fail after `timeout_s`
// seconds.
std::shared_ptr<apache::thrift::transport::TFramedTransport> client_transport(
    const Address& address, uint32_t timeout_s);

std::shared_ptr<apache::thrift::transport::TServerSocket> server_socket(const Address& address);
std::shared_ptr<apache::thrift::transport::TTransportFactory> server_framing();

}  // namespace hat::atb
