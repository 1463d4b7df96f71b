// SPDX-License-Identifier: Apache-2.0
// tests/e2e/cpp/stack.cc: makes the transports and protocols of libthrift by name.
#include "tests/e2e/cpp/stack.h"

#include <thrift/protocol/TBinaryProtocol.h>
#include <thrift/protocol/TCompactProtocol.h>
#include <thrift/protocol/THeaderProtocol.h>
#include <thrift/protocol/TJSONProtocol.h>
#include <thrift/protocol/TMultiplexedProtocol.h>
#include <thrift/transport/TBufferTransports.h>
#include <thrift/transport/THttpClient.h>
#include <thrift/transport/THttpServer.h>
#include <thrift/transport/TSocket.h>
#include <thrift/transport/TZlibTransport.h>

#include <stdexcept>

#include "client/rdma/TRdma.h"
#include "client/thrift/TShmSocket.h"

namespace probe_peer {
namespace {

namespace protocol = apache::thrift::protocol;
namespace transport = apache::thrift::transport;
using apache::thrift::TConfiguration;

constexpr int kMessageBytesMax = 1 << 30;
constexpr int kFrameBytesMax = 64 << 20;

template <class Socket>
std::shared_ptr<Socket> with_timeouts(std::shared_ptr<Socket> socket, int ms) {
  socket->setConnTimeout(ms);
  socket->setRecvTimeout(ms);
  socket->setSendTimeout(ms);
  return socket;
}

std::shared_ptr<transport::TTransport> make_socket(const Combination& combination) {
  if (combination.is_rdma()) {
    return with_timeouts(
        std::make_shared<hatrpc::TRdma>(combination.host(), combination.port(),
                                        rdma_options(combination), large_messages()),
        combination.timeout_ms);
  }
  std::shared_ptr<transport::TSocket> socket;
  if (combination.is_shm()) {
    socket = std::make_shared<hatrpc::TShmSocket>(combination.path(), large_messages());
  } else if (combination.is_unix()) {
    socket = std::make_shared<transport::TSocket>(combination.path(), large_messages());
  } else {
    socket = std::make_shared<transport::TSocket>(combination.host(), combination.port(),
                                                  large_messages());
  }
  return with_timeouts(std::move(socket), combination.timeout_ms);
}

std::shared_ptr<transport::TTransport> layer(const std::string& name,
                                             std::shared_ptr<transport::TTransport> below) {
  if (name == "buffered") {
    return std::make_shared<transport::TBufferedTransport>(below, large_messages());
  }
  if (name == "framed" || name == "framed_header") {
    return std::make_shared<transport::TFramedTransport>(below, large_messages());
  }
  if (name == "zlib") {
    using transport::TZlibTransport;
    auto buffered = std::make_shared<transport::TBufferedTransport>(below, large_messages());
    // Pass copies of the constants. make_shared() takes references, and references to these
    // constants would not link, because libthrift declares the constants but does not define them.
    return std::make_shared<TZlibTransport>(
        buffered, int{TZlibTransport::DEFAULT_URBUF_SIZE}, int{TZlibTransport::DEFAULT_CRBUF_SIZE},
        int{TZlibTransport::DEFAULT_UWBUF_SIZE}, int{TZlibTransport::DEFAULT_CWBUF_SIZE},
        Z_DEFAULT_COMPRESSION, large_messages());
  }
  if (name == "header") return below;
  throw std::invalid_argument("no transport named " + name);
}

class LayerFactory : public transport::TTransportFactory {
 public:
  explicit LayerFactory(std::string name) : name_(std::move(name)) {}
  std::shared_ptr<transport::TTransport> getTransport(
      std::shared_ptr<transport::TTransport> below) override {
    return layer(name_, std::move(below));
  }

 private:
  std::string name_;
};

std::shared_ptr<protocol::TProtocol> make_protocol(
    const Combination& combination, std::shared_ptr<transport::TTransport> transport) {
  if (combination.has_header()) {
    const uint16_t id = combination.protocol == "compact" ? protocol::T_COMPACT_PROTOCOL
                                                          : protocol::T_BINARY_PROTOCOL;
    auto header = std::make_shared<protocol::THeaderProtocol>(transport, id);
    header->getTransport()->setConfiguration(large_messages());
    return header;
  }
  return make_protocol_factory(combination)->getProtocol(std::move(transport));
}

}  // namespace

std::shared_ptr<TConfiguration> large_messages() {
  return std::make_shared<TConfiguration>(kMessageBytesMax, kFrameBytesMax);
}

hatrpc::RdmaOptions rdma_options(const Combination& combination) {
  hatrpc::RdmaOptions options;
  options.config_file = combination.rdma_config;
  options.manifest_file = combination.rdma_manifest;
  options.service = "Probe";
  // TServerRdma has no name for a transport with which it cannot follow the messages.
  const bool is_known = combination.transport == "framed" || combination.transport == "buffered";
  options.thrift_transport = combination.has_header() ? "header"
                             : is_known               ? combination.transport
                                                      : "";
  options.thrift_protocol = combination.protocol;
  return options;
}

ClientStack make_client_stack(const Combination& combination) {
  ClientStack stack;
  auto socket = make_socket(combination);
  if (combination.transport == "http") {
    stack.transport =
        std::make_shared<transport::THttpClient>(socket, "localhost", "/probe", large_messages());
  } else {
    stack.transport = layer(combination.transport, socket);
  }
  stack.protocol = make_protocol(combination, stack.transport);
  if (!combination.multiplexed.empty()) {
    stack.protocol =
        std::make_shared<protocol::TMultiplexedProtocol>(stack.protocol, combination.multiplexed);
  }
  return stack;
}

std::shared_ptr<transport::TTransportFactory> make_transport_factory(
    const Combination& combination) {
  if (combination.transport == "http") {
    return std::make_shared<transport::THttpServerTransportFactory>();
  }
  return std::make_shared<LayerFactory>(combination.transport);
}

std::shared_ptr<protocol::TProtocolFactory> make_protocol_factory(const Combination& combination) {
  if (combination.has_header()) {
    return std::make_shared<protocol::THeaderProtocolFactory>();
  }
  if (combination.protocol == "binary") {
    return std::make_shared<protocol::TBinaryProtocolFactory>();
  }
  if (combination.protocol == "compact") {
    return std::make_shared<protocol::TCompactProtocolFactory>();
  }
  if (combination.protocol == "json") return std::make_shared<protocol::TJSONProtocolFactory>();
  throw std::invalid_argument("no protocol named " + combination.protocol);
}

}  // namespace probe_peer
