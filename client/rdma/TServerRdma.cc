// SPDX-License-Identifier: Apache-2.0
#include "client/rdma/TServerRdma.h"

#include <utility>

#include "client/rdma/TRdma.h"
#include "client/rdma/listening.h"

namespace hatrpc {

using apache::thrift::transport::TTransport;
using apache::thrift::transport::TTransportException;

TServerRdma::TServerRdma(std::string host, int port, RdmaOptions options,
                         std::shared_ptr<apache::thrift::TConfiguration> config)
    : host_(std::move(host)),
      port_(port),
      options_(std::move(options)),
      config_(std::move(config)) {}

TServerRdma::~TServerRdma() = default;

std::shared_ptr<rdma::Listening> TServerRdma::listening() const {
  const std::lock_guard lock(mutex_);
  return listening_;
}

bool TServerRdma::isOpen() const { return listening() != nullptr; }

void TServerRdma::listen() {
  if (isOpen()) return;
  if (port_ < 0 || port_ > 65535) {
    throw TTransportException(TTransportException::BAD_ARGS,
                              "TServerRdma::listen(): " + std::to_string(port_) + " is no port");
  }
  auto prepared = rdma::prepare_server(options_, host_, static_cast<uint16_t>(port_));
  if (!prepared) {
    throw TTransportException(TTransportException::BAD_ARGS,
                              "TServerRdma::listen(): " + prepared.error().message);
  }
  auto listening = rdma::Listening::open(std::move(*prepared));
  if (!listening) {
    throw TTransportException(TTransportException::NOT_OPEN,
                              "TServerRdma::listen(): " + listening.error().message);
  }
  const std::lock_guard lock(mutex_);
  listening_ = std::move(*listening);
}

std::shared_ptr<TTransport> TServerRdma::acceptImpl() {
  const auto listening = this->listening();
  if (listening == nullptr) {
    throw TTransportException(TTransportException::NOT_OPEN, "TServerRdma: not listening");
  }
  auto stream = listening->accept();
  if (stream == nullptr) {
    throw TTransportException(TTransportException::INTERRUPTED, "TServerRdma: interrupted");
  }
  return std::shared_ptr<TTransport>(new TRdma(std::move(stream), config_));
}

void TServerRdma::interrupt() {
  if (const auto listening = this->listening()) listening->interrupt();
}

void TServerRdma::interruptChildren() {
  if (const auto listening = this->listening()) listening->interrupt_streams();
}

void TServerRdma::close() {
  std::shared_ptr<rdma::Listening> ended;  // destroyed without the lock
  const std::lock_guard lock(mutex_);
  ended.swap(listening_);
}

int TServerRdma::getPort() const {
  const auto listening = this->listening();
  return listening ? listening->port() : port_;
}

}  // namespace hatrpc
