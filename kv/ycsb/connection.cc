// SPDX-License-Identifier: Apache-2.0
#include "kv/ycsb/connection.h"

#include <thrift/protocol/TBinaryProtocol.h>
#include <thrift/transport/TBufferTransports.h>
#include <thrift/transport/TSocket.h>

#include "HatKV.h"
#include "client/thrift/TShmSocket.h"

namespace hat::ycsb {
namespace {

namespace transport = apache::thrift::transport;

constexpr int kConnectTimeoutMs = 10'000;
constexpr int kCallTimeoutMs = 60'000;

std::shared_ptr<transport::TSocket> make_socket(const Address& address) {
  std::shared_ptr<transport::TSocket> socket;
  switch (address.kind) {
    case Address::Kind::kShm:
      socket = std::make_shared<hatrpc::TShmSocket>(address.path);
      break;
    case Address::Kind::kUnix:
      socket = std::make_shared<transport::TSocket>(address.path);
      break;
    case Address::Kind::kTcp:
      socket = std::make_shared<transport::TSocket>(address.host, address.port);
      break;
  }
  socket->setConnTimeout(kConnectTimeoutMs);
  socket->setSendTimeout(kCallTimeoutMs);
  socket->setRecvTimeout(kCallTimeoutMs);
  return socket;
}

}  // namespace

Connection::Connection(Address address) : address_(std::move(address)) {}
Connection::~Connection() = default;

Result<void> Connection::open() {
  try {
    const auto framed = std::make_shared<transport::TFramedTransport>(make_socket(address_));
    framed->open();
    client_ = std::make_unique<hatkv::HatKVClient>(
        std::make_shared<apache::thrift::protocol::TBinaryProtocol>(framed));
  } catch (const apache::thrift::TException& error) {
    return fail(ErrorCode::kUnavailable,
                "cannot connect to " + to_string(address_) + ": " + error.what());
  }
  return {};
}

Result<void> Connection::make(const char* name, const std::function<void()>& call) {
  if (!client_) HAT_TRY_VOID(open());
  try {
    call();
    return {};
  } catch (const hatkv::NotFound&) {
    return fail(ErrorCode::kNotFound,
                std::string(name) + ": the key is not in the store; was it loaded?");
  } catch (const hatkv::Refused& refused) {
    return fail(ErrorCode::kDenied, std::string(name) + ": refused: " + refused.reason);
  } catch (const apache::thrift::TException& error) {
    client_.reset();
    return fail(ErrorCode::kUnavailable, std::string(name) + ": " + error.what());
  }
}

Result<void> Connection::get(const std::string& key, std::string& value) {
  return make("get", [&] { client_->get(value, key); });
}

Result<void> Connection::put(const std::string& key, const std::string& value) {
  return make("put", [&] { client_->put(key, value); });
}

Result<void> Connection::multiget(const std::vector<std::string>& keys,
                                  std::vector<hatkv::Lookup>& found) {
  return make("multiget", [&] { client_->multiget(found, keys); });
}

Result<void> Connection::multiput(const std::vector<hatkv::Pair>& pairs) {
  return make("multiput", [&] { client_->multiput(pairs); });
}

}  // namespace hat::ycsb
