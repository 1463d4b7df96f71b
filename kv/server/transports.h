// SPDX-License-Identifier: Apache-2.0
// kv/server/transports.h: libthrift's server transports, limiting each message, not each
// connection.
#pragma once

#include <thrift/transport/TBufferTransports.h>

#include <memory>

namespace hat {

// libthrift 0.17 limits the size of a message, by default to 100 MiB. A transport adds up the bytes
// of the strings that it reads, and only flush() resets the sum. A server never flushes the
// transport that it reads from, so each connection ends with "MaxMessageSize reached" after that
// many bytes. This class resets the sum after each message. `Base` is TFramedTransport or
// TBufferedTransport.
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

// `Transport` is FramedTransport or BufferedTransport.
template <class Transport>
class TransportFactory : public apache::thrift::transport::TTransportFactory {
 public:
  std::shared_ptr<apache::thrift::transport::TTransport> getTransport(
      std::shared_ptr<apache::thrift::transport::TTransport> under) override {
    return std::make_shared<Transport>(std::move(under));
  }
};

}  // namespace hat
