// SPDX-License-Identifier: Apache-2.0
#include "bench/atb/transports.h"

#include <thrift/transport/TSocket.h>

#include "client/thrift/TShmServerSocket.h"
#include "client/thrift/TShmSocket.h"

namespace hat::atb {
namespace {

using apache::thrift::transport::TFramedTransport;
using apache::thrift::transport::TServerSocket;
using apache::thrift::transport::TSocket;
using apache::thrift::transport::TTransport;
using apache::thrift::transport::TTransportFactory;

class Framed final : public TFramedTransport {
 public:
  using TFramedTransport::TFramedTransport;

  uint32_t readEnd() override {
    resetConsumedMessageSize();
    return TFramedTransport::readEnd();
  }
};

class Framing final : public TTransportFactory {
 public:
  std::shared_ptr<TTransport> getTransport(std::shared_ptr<TTransport> socket) override {
    return std::make_shared<Framed>(std::move(socket));
  }
};

std::shared_ptr<TSocket> client_socket(const Address& address) {
  switch (address.kind) {
    case Address::Kind::kShm:
      return std::make_shared<hatrpc::TShmSocket>(address.path);
    case Address::Kind::kUnix:
      return std::make_shared<TSocket>(address.path);
    case Address::Kind::kTcp:
      break;
  }
  return std::make_shared<TSocket>(address.host, address.port);
}

}  // namespace

std::shared_ptr<TFramedTransport> client_transport(const Address& address, uint32_t timeout_s) {
  const auto socket = client_socket(address);
  const int timeout_ms = static_cast<int>(timeout_s * 1000);
  socket->setConnTimeout(timeout_ms);
  socket->setRecvTimeout(timeout_ms);
  socket->setSendTimeout(timeout_ms);
  return std::make_shared<Framed>(socket);
}

std::shared_ptr<TServerSocket> server_socket(const Address& address) {
  switch (address.kind) {
    case Address::Kind::kShm:
      return std::make_shared<hatrpc::TShmServerSocket>(address.path);
    case Address::Kind::kUnix:
      return std::make_shared<TServerSocket>(address.path);
    case Address::Kind::kTcp:
      break;
  }
  return std::make_shared<TServerSocket>(address.host, address.port);
}

std::shared_ptr<TTransportFactory> server_framing() { return std::make_shared<Framing>(); }

}  // namespace hat::atb
