// SPDX-License-Identifier: Apache-2.0
// bench/atb/transports.h: libthrift's transports at an address: TCP, unix, or rings; framed.
//
// libthrift's framed transport counts all that it ever reads against its limit for one message, and
// gives a connection up after 100 MiB. These count each message by itself.
#pragma once

#include <thrift/transport/TBufferTransports.h>
#include <thrift/transport/TServerSocket.h>

#include <memory>

#include "base/address.h"

namespace hat::atb {

// Not open yet; reads and writes fail after `timeout_s`.
std::shared_ptr<apache::thrift::transport::TFramedTransport> client_transport(
    const Address& address, uint32_t timeout_s);

std::shared_ptr<apache::thrift::transport::TServerSocket> server_socket(const Address& address);
std::shared_ptr<apache::thrift::transport::TTransportFactory> server_framing();

}  // namespace hat::atb
