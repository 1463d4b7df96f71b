// SPDX-License-Identifier: Apache-2.0
#include "client/rdma/hatrpc_rdma.h"

#include <thrift/TConfiguration.h>
#include <thrift/transport/TTransportException.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "client/rdma/TRdma.h"
#include "client/rdma/TServerRdma.h"

using apache::thrift::TConfiguration;
using apache::thrift::transport::TTransportException;

struct hatrpc_rdma {
  std::shared_ptr<hatrpc::TRdma> transport;
};
struct hatrpc_rdma_server {
  std::unique_ptr<hatrpc::TServerRdma> server;
};

namespace {

thread_local hatrpc_rdma_error_kind last_kind = HATRPC_RDMA_UNKNOWN;
thread_local std::string last_text;

// Calls `work`. If it throws, keeps the error and returns `failed`.
template <class Work, class Value>
Value guarded(Work work, Value failed) {
  try {
    return work();
  } catch (const TTransportException& error) {
    const auto kind = static_cast<int>(error.getType());
    last_kind = kind <= HATRPC_RDMA_BAD_ARGS ? static_cast<hatrpc_rdma_error_kind>(kind)
                                             : HATRPC_RDMA_UNKNOWN;
    last_text = error.what();
  } catch (const std::exception& error) {
    last_kind = HATRPC_RDMA_UNKNOWN;
    last_text = error.what();
  }
  return failed;
}

std::string text_of(const char* text) { return text == nullptr ? "" : text; }

hatrpc::RdmaOptions options_of(const hatrpc_rdma_options* options) {
  if (options == nullptr) return {};
  return {.manifest = text_of(options->manifest),
          .manifest_file = text_of(options->manifest_file),
          .config = text_of(options->config),
          .config_file = text_of(options->config_file),
          .service = text_of(options->service),
          .thrift_transport = text_of(options->thrift_transport),
          .thrift_protocol = text_of(options->thrift_protocol)};
}

// The limits of libthrift on messages are for its own protocols; here, the caller reads bytes.
std::shared_ptr<TConfiguration> no_limits() {
  return std::make_shared<TConfiguration>(INT32_MAX, INT32_MAX);
}

}  // namespace

hatrpc_rdma_error_kind hatrpc_rdma_error(const char** text) {
  if (text != nullptr) *text = last_text.c_str();
  return last_kind;
}

hatrpc_rdma* hatrpc_rdma_open(const char* host, int port, const hatrpc_rdma_options* options,
                              int timeout_ms) {
  const auto open = [&] {
    auto transport =
        std::make_shared<hatrpc::TRdma>(text_of(host), port, options_of(options), no_limits());
    transport->setConnTimeout(timeout_ms);
    transport->open();
    return new hatrpc_rdma{std::move(transport)};
  };
  return guarded(open, static_cast<hatrpc_rdma*>(nullptr));
}

int64_t hatrpc_rdma_read(hatrpc_rdma* connection, void* into, size_t bytes, int timeout_ms) {
  const auto read = [&]() -> int64_t {
    connection->transport->setRecvTimeout(timeout_ms);
    const auto most = static_cast<uint32_t>(std::min<size_t>(bytes, INT32_MAX));
    return connection->transport->read(static_cast<uint8_t*>(into), most);
  };
  return guarded(read, int64_t{-1});
}

int hatrpc_rdma_write(hatrpc_rdma* connection, const void* from, size_t bytes, int timeout_ms) {
  const auto write = [&] {
    connection->transport->setSendTimeout(timeout_ms);
    const auto* next = static_cast<const uint8_t*>(from);
    while (bytes != 0) {
      const auto part = static_cast<uint32_t>(std::min<size_t>(bytes, INT32_MAX));
      connection->transport->write(next, part);
      next += part;
      bytes -= part;
    }
    return 0;
  };
  return guarded(write, -1);
}

int hatrpc_rdma_flush(hatrpc_rdma* connection) {
  const auto flush = [&] {
    connection->transport->flush();
    return 0;
  };
  return guarded(flush, -1);
}

void hatrpc_rdma_describe(hatrpc_rdma* connection, char* into, size_t bytes) {
  if (bytes == 0) return;
  const std::string text = connection->transport->describe();
  const size_t length = std::min(text.size(), bytes - 1);
  std::memcpy(into, text.data(), length);
  into[length] = '\0';
}

void hatrpc_rdma_close(hatrpc_rdma* connection) { delete connection; }

hatrpc_rdma_server* hatrpc_rdma_listen(const char* host, int port,
                                       const hatrpc_rdma_options* options) {
  const auto listen = [&] {
    auto server = std::make_unique<hatrpc::TServerRdma>(text_of(host), port, options_of(options),
                                                        no_limits());
    server->listen();
    return new hatrpc_rdma_server{std::move(server)};
  };
  return guarded(listen, static_cast<hatrpc_rdma_server*>(nullptr));
}

int hatrpc_rdma_port(hatrpc_rdma_server* server) { return server->server->getPort(); }

hatrpc_rdma* hatrpc_rdma_accept(hatrpc_rdma_server* server) {
  const auto accept = [&] {
    auto accepted = std::dynamic_pointer_cast<hatrpc::TRdma>(server->server->accept());
    return new hatrpc_rdma{std::move(accepted)};
  };
  return guarded(accept, static_cast<hatrpc_rdma*>(nullptr));
}

void hatrpc_rdma_interrupt(hatrpc_rdma_server* server) { server->server->interrupt(); }

void hatrpc_rdma_server_close(hatrpc_rdma_server* server) { delete server; }
