// SPDX-License-Identifier: Apache-2.0
#include "client/thrift/TShmSocket.h"

#include <cerrno>
#include <cstring>

#include "client/ring/socket.h"
#include "client/thrift/shm_path.h"

namespace hatrpc {

using apache::thrift::transport::TTransportException;

namespace {

// Converts a time-out of Thrift (milliseconds; 0 means no time-out) to a time-out of ring::Socket.
int timeout(int ms) { return ms > 0 ? ms : ring::kForever; }

[[noreturn]] void fail(const std::string& what, int error) {
  switch (error) {
    case EAGAIN:
      throw TTransportException(TTransportException::TIMED_OUT, what + ": timed out");
    case EINTR:
      throw TTransportException(TTransportException::INTERRUPTED, what + ": interrupted");
    case EPROTO:
      throw TTransportException(
          TTransportException::CORRUPTED_DATA,
          what + ": the other side does not speak the ring protocol, or violated it");
    default:
      throw TTransportException(TTransportException::NOT_OPEN, what, error);
  }
}

}  // namespace

TShmSocket::TShmSocket(const std::string& path,
                       std::shared_ptr<apache::thrift::TConfiguration> config)
    : TSocket(shm_path(path), std::move(config)) {}

TShmSocket::TShmSocket(THRIFT_SOCKET accepted, std::shared_ptr<THRIFT_SOCKET> interrupt_listener,
                       std::shared_ptr<apache::thrift::TConfiguration> config)
    : TSocket(accepted, std::move(interrupt_listener), std::move(config)) {}

TShmSocket::~TShmSocket() { TShmSocket::close(); }

void TShmSocket::open() {
  if (TShmSocket::isOpen()) return;
  const int error = ring::Socket::connect(path_.c_str(), timeout(connTimeout_), ring_);
  if (error != 0) fail("TShmSocket::open() " + path_, error);
  socket_ = ring_->fd();
}

bool TShmSocket::isOpen() const { return socket_ != THRIFT_INVALID_SOCKET; }

void TShmSocket::close() {
  if (ring_) socket_ = THRIFT_INVALID_SOCKET;  // the ring owns the descriptor
  ring_.reset();
  TSocket::close();
}

ring::Socket& TShmSocket::ring() {
  if (ring_) return *ring_;
  if (!isOpen()) throw TTransportException(TTransportException::NOT_OPEN, "TShmSocket: not open");
  const int fd = std::exchange(socket_, THRIFT_INVALID_SOCKET);
  const int error =
      ring::Socket::open(ring::Side::kAcceptor, fd, timeout(recvTimeout_), ring_, interrupter());
  if (error != 0) fail("TShmSocket: greeting", error);
  socket_ = ring_->fd();
  return *ring_;
}

int TShmSocket::interrupter() const { return interruptListener_ ? *interruptListener_ : -1; }

bool TShmSocket::peek() {
  if (!isOpen()) return false;
  const int error = ring().wait_readable(timeout(recvTimeout_), interrupter());
  if (error == EINTR) return false;
  if (error != 0) fail("TShmSocket::peek()", error);
  return ring().readable_bytes() != 0;
}

bool TShmSocket::hasPendingDataToRead() { return isOpen() && ring().readable_bytes() != 0; }

uint32_t TShmSocket::read(uint8_t* into, uint32_t bytes) {
  const ssize_t count = ring().read(into, bytes, timeout(recvTimeout_), interrupter());
  if (count == -ECONNRESET) return 0;  // TSocket also returns 0 after ECONNRESET
  if (count < 0) fail("TShmSocket::read()", static_cast<int>(-count));
  return static_cast<uint32_t>(count);
}

void TShmSocket::write(const uint8_t* from, uint32_t bytes) {
  const int error = ring().write_all(from, bytes, timeout(sendTimeout_));
  if (error != 0) fail("TShmSocket::write()", error);
}

uint32_t TShmSocket::write_partial(const uint8_t* from, uint32_t bytes) {
  const ssize_t count = ring().write(from, bytes, timeout(sendTimeout_));
  if (count == -EAGAIN) return 0;
  if (count < 0) fail("TShmSocket::write_partial()", static_cast<int>(-count));
  return static_cast<uint32_t>(count);
}

const std::string TShmSocket::getOrigin() const { return "shm:" + path_; }

}  // namespace hatrpc
