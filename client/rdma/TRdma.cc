// SPDX-License-Identifier: Apache-2.0
#include "client/rdma/TRdma.h"

#include <utility>

#include "client/rdma/application_stream.h"
#include "client/rdma/connection.h"

namespace hatrpc {

using apache::thrift::transport::TTransportException;
using rdma::ApplicationStream;
using Outcome = ApplicationStream::Outcome;

namespace {

hat::TimePoint deadline_in(int ms) {
  if (ms <= 0) return rdma::SharedLoop::kNever;
  return std::chrono::steady_clock::now() + std::chrono::milliseconds(ms);
}

[[noreturn]] void fail(Outcome outcome, const std::string& what) {
  switch (outcome) {
    case Outcome::kTimedOut:
      throw TTransportException(TTransportException::TIMED_OUT, what + ": timed out");
    case Outcome::kInterrupted:
      throw TTransportException(TTransportException::INTERRUPTED, what + ": interrupted");
    case Outcome::kOk:
    case Outcome::kEnd:
      break;
  }
  throw TTransportException(TTransportException::NOT_OPEN, what + ": the connection has ended");
}

}  // namespace

TRdma::TRdma(std::string host, int port, RdmaOptions options,
             std::shared_ptr<apache::thrift::TConfiguration> config)
    : TVirtualTransport(std::move(config)),
      host_(std::move(host)),
      port_(port),
      options_(std::move(options)) {}

TRdma::TRdma(std::shared_ptr<ApplicationStream> accepted,
             std::shared_ptr<apache::thrift::TConfiguration> config)
    : TVirtualTransport(std::move(config)), stream_(std::move(accepted)) {}

TRdma::~TRdma() { TRdma::close(); }

bool TRdma::isOpen() const { return stream_ != nullptr; }

void TRdma::open() {
  if (isOpen()) return;
  if (port_ < 1 || port_ > 65535) {
    throw TTransportException(TTransportException::BAD_ARGS,
                              "TRdma::open(): " + std::to_string(port_) + " is no port");
  }
  const hat::TimePoint deadline = deadline_in(connect_timeout_ms_);
  auto prepared = rdma::prepare_client(options_, host_, static_cast<uint16_t>(port_));
  if (!prepared) {
    const auto type = prepared.error().code == hat::ErrorCode::kInvalid
                          ? TTransportException::BAD_ARGS
                          : TTransportException::NOT_OPEN;
    throw TTransportException(type, "TRdma::open(): " + prepared.error().message);
  }
  auto connection = rdma::Connection::open(std::move(*prepared), deadline);
  if (!connection) {
    throw TTransportException(TTransportException::NOT_OPEN,
                              "TRdma::open() " + getOrigin() + ": " + connection.error().message);
  }
  connection_ = std::move(*connection);
  stream_ = connection_->stream();
}

void TRdma::close() {
  if (!isOpen()) return;
  stream_->close();
  stream_.reset();
  connection_.reset();
}

ApplicationStream& TRdma::stream() {
  if (!isOpen()) throw TTransportException(TTransportException::NOT_OPEN, "TRdma: not open");
  return *stream_;
}

bool TRdma::peek() {
  if (!isOpen()) return false;
  const Outcome outcome = stream_->await_readable(deadline_in(receive_timeout_ms_));
  if (outcome == Outcome::kTimedOut) fail(outcome, "TRdma::peek()");
  return outcome == Outcome::kOk;
}

uint32_t TRdma::read(uint8_t* into, uint32_t bytes) {
  checkReadBytesAvailable(bytes);
  size_t count = 0;
  const Outcome outcome = stream().read(std::as_writable_bytes(std::span(into, bytes)),
                                        deadline_in(receive_timeout_ms_), count);
  if (outcome == Outcome::kEnd) return 0;  // as TSocket
  if (outcome != Outcome::kOk) fail(outcome, "TRdma::read()");
  return static_cast<uint32_t>(count);
}

void TRdma::write(const uint8_t* from, uint32_t bytes) {
  const Outcome outcome =
      stream().write(std::as_bytes(std::span(from, bytes)), deadline_in(send_timeout_ms_));
  if (outcome != Outcome::kOk) fail(outcome, "TRdma::write()");
}

void TRdma::flush() {
  resetConsumedMessageSize();
  if (isOpen()) stream_->flush();  // a closed TSocket accepts flush(), too: servers call it
}

std::string TRdma::describe() const { return connection_ ? connection_->describe() : ""; }

const std::string TRdma::getOrigin() const { return "rdma:" + host_ + ":" + std::to_string(port_); }

}  // namespace hatrpc
