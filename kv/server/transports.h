// SPDX-License-Identifier: Apache-2.0
// kv/server/transports.h: libthrift's transports, changed to limit the size of each message and not
// the number of bytes of a connection.
#pragma once

#include <thrift/transport/TBufferTransports.h>

#include <memory>

namespace hat {

// A transport that resets libthrift's count of bytes after each message. `Base` must be
// TFramedTransport or TBufferedTransport.
//
// libthrift 0.17 limits the size of a message, by default to 100 MiB. Its transports add up the
// bytes that they read, and only flush() resets the sum. A server never flushes the transport from
// which it reads. Without this class, each connection would end with "MaxMessageSize reached" after
// 100 MiB.
template <class Base>
class CountsPerMessage : public Base {
 public:
  using Base::Base;

  uint32_t readEnd() override {
    this->resetConsumedMessageSize();
    return Base::readEnd();
  }
};

using FramedTransport = CountsPerMessage<apache::thrift::transport::TFramedTransport>;
using BufferedTransport = CountsPerMessage<apache::thrift::transport::TBufferedTransport>;

// Makes transports of the type `Transport`: FramedTransport or BufferedTransport.
template <class Transport>
class TransportFactory : public apache::thrift::transport::TTransportFactory {
 public:
  std::shared_ptr<apache::thrift::transport::TTransport> getTransport(
      std::shared_ptr<apache::thrift::transport::TTransport> under) override {
    return std::make_shared<Transport>(std::move(under));
  }
};

}  // namespace hat
