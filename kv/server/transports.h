// SPDX-License-Identifier: Apache-2.0
// kv/server/transports.h: libthrift's transports for servers, bounding messages and not
// connections.
#pragma once

#include <thrift/transport/TBufferTransports.h>

#include <memory>

namespace hat {

// libthrift 0.17 counts the bytes of strings that a transport reads against its bound for one
// message, by default 100 MiB. Only flush() begins anew, and a server flushes another transport
// than the one it reads from: its connections end after so many bytes, with "MaxMessageSize
// reached". This begins anew after each message. `Base`: TFramedTransport or TBufferedTransport.
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

// `Transport`: one of the two.
template <class Transport>
class TransportFactory : public apache::thrift::transport::TTransportFactory {
 public:
  std::shared_ptr<apache::thrift::transport::TTransport> getTransport(
      std::shared_ptr<apache::thrift::transport::TTransport> under) override {
    return std::make_shared<Transport>(std::move(under));
  }
};

}  // namespace hat
