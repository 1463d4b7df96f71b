// SPDX-License-Identifier: Apache-2.0
#include "kv/cli/client.h"

#include <thrift/protocol/TBinaryProtocol.h>
#include <thrift/protocol/TCompactProtocol.h>
#include <thrift/transport/TBufferTransports.h>
#include <thrift/transport/TSocket.h>

#include "client/thrift/TShmSocket.h"

namespace hat {
namespace {

namespace client_transport = apache::thrift::transport;
namespace client_protocol = apache::thrift::protocol;

constexpr int kConnectMs = 10'000;

std::shared_ptr<client_transport::TSocket> make_client_socket(const Address& address) {
  switch (address.kind) {
    case Address::Kind::kShm:
      return std::make_shared<hatrpc::TShmSocket>(address.path);
    case Address::Kind::kUnix:
      return std::make_shared<client_transport::TSocket>(address.path);
    case Address::Kind::kTcp:
      break;
  }
  return std::make_shared<client_transport::TSocket>(address.host, address.port);
}

}  // namespace

Result<std::unique_ptr<hatkv::HatKVClient>> connect_to_kv(const CommandOptions& options) {
  const auto socket = make_client_socket(options.connect);
  socket->setConnTimeout(kConnectMs);
  socket->setRecvTimeout(static_cast<int>(options.timeout_s) * 1000);
  std::shared_ptr<client_transport::TTransport> transport;
  if (options.framed) {
    transport = std::make_shared<client_transport::TFramedTransport>(socket);
  } else {
    transport = std::make_shared<client_transport::TBufferedTransport>(socket);
  }
  std::shared_ptr<client_protocol::TProtocol> protocol;
  if (options.compact) {
    protocol = std::make_shared<client_protocol::TCompactProtocol>(transport);
  } else {
    protocol = std::make_shared<client_protocol::TBinaryProtocol>(transport);
  }
  try {
    transport->open();
  } catch (const std::exception& error) {
    return fail(ErrorCode::kUnavailable,
                "cannot reach " + to_string(options.connect) + ": " + error.what());
  }
  return std::make_unique<hatkv::HatKVClient>(protocol);
}

}  // namespace hat
