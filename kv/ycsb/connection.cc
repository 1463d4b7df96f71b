#include "kv/ycsb/connection.h"

#include <thrift/TConfiguration.h>
#include <thrift/protocol/TBinaryProtocol.h>
#include <thrift/transport/TBufferTransports.h>
#include <thrift/transport/TSocket.h>

#include "HatKV.h"
#include "client/thrift/TShmSocket.h"

namespace hat::ycsb {
namespace {

namespace transport = apache::thrift::transport;

// libthrift gives a connection up after so many bytes in its life, by default 100 MiB. A client
// takes a new one before.
constexpr size_t kLifeBytesMax = INT32_MAX;
constexpr size_t kCallBytes = 256;  // what a call has beside keys and values, more than enough
constexpr int kConnectTimeoutMs = 10'000;
constexpr int kCallTimeoutMs = 60'000;

std::shared_ptr<transport::TSocket> make_socket(
    const Address& address, const std::shared_ptr<apache::thrift::TConfiguration>& limits) {
  std::shared_ptr<transport::TSocket> socket;
  switch (address.kind) {
    case Address::Kind::kShm:
      socket = std::make_shared<hatrpc::TShmSocket>(address.path, limits);
      break;
    case Address::Kind::kUnix:
      socket = std::make_shared<transport::TSocket>(address.path, limits);
      break;
    case Address::Kind::kTcp:
      socket = std::make_shared<transport::TSocket>(address.host, address.port, limits);
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
  const auto limits = std::make_shared<apache::thrift::TConfiguration>(kLifeBytesMax);
  try {
    const auto framed =
        std::make_shared<transport::TFramedTransport>(make_socket(address_, limits), limits);
    framed->open();
    client_ = std::make_unique<hatkv::HatKVClient>(
        std::make_shared<apache::thrift::protocol::TBinaryProtocol>(framed));
    bytes_left_ = kLifeBytesMax / 2;
  } catch (const apache::thrift::TException& error) {
    return fail("cannot connect to " + to_string(address_) + ": " + error.what());
  }
  return {};
}

// `bytes_about`: of the call's keys and values, both ways.
Result<void> Connection::make(const char* name, size_t bytes_about,
                              const std::function<void()>& call) {
  const size_t bytes = bytes_about + kCallBytes;
  if (!client_ || bytes > bytes_left_) HAT_TRY_VOID(open());
  bytes_left_ -= std::min(bytes, bytes_left_);
  try {
    call();
    return {};
  } catch (const hatkv::NotFound&) {
    return fail(std::string(name) + ": the key is not in the store; was it loaded?");
  } catch (const hatkv::Refused& refused) {
    return fail(std::string(name) + ": refused: " + refused.reason);
  } catch (const apache::thrift::TException& error) {
    client_.reset();
    return fail(std::string(name) + ": " + error.what());
  }
}

Result<void> Connection::get(const std::string& key, std::string& value) {
  HAT_TRY_VOID(make("get", key.size(), [&] { client_->get(value, key); }));
  bytes_left_ -= std::min(value.size(), bytes_left_);
  return {};
}

Result<void> Connection::put(const std::string& key, const std::string& value) {
  return make("put", key.size() + value.size(), [&] { client_->put(key, value); });
}

Result<void> Connection::multiget(const std::vector<std::string>& keys,
                                  std::vector<hatkv::Lookup>& found) {
  size_t bytes = 0;
  for (const std::string& key : keys) bytes += key.size() + kCallBytes;
  HAT_TRY_VOID(make("multiget", bytes, [&] { client_->multiget(found, keys); }));
  for (const hatkv::Lookup& one : found) bytes_left_ -= std::min(one.value.size(), bytes_left_);
  return {};
}

Result<void> Connection::multiput(const std::vector<hatkv::Pair>& pairs) {
  size_t bytes = 0;
  for (const hatkv::Pair& pair : pairs) bytes += pair.key.size() + pair.value.size() + kCallBytes;
  return make("multiput", bytes, [&] { client_->multiput(pairs); });
}

}  // namespace hat::ycsb
