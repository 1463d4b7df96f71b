// SPDX-License-Identifier: Apache-2.0
// bench/atb/transports.h: creates libthrift's framed transports for an address: TCP, unix or rings.
//
// libthrift's framed transport adds up all bytes that it reads against the limit of one message,
// and ends a connection after 100 MiB. These transports count each message separately.
#pragma once

#include <thrift/transport/TBufferTransports.h>
#include <thrift/transport/TServerSocket.h>

#include <memory>

#include "base/address.h"

namespace hat::atb {

// Returns a transport that is not open yet. Its reads and writes fail after `timeout_s`.
std::shared_ptr<apache::thrift::transport::TFramedTransport> client_transport(
    const Address& address, uint32_t timeout_s);

std::shared_ptr<apache::thrift::transport::TServerSocket> server_socket(const Address& address);
std::shared_ptr<apache::thrift::transport::TTransportFactory> server_framing();

}  // namespace hat::atb
