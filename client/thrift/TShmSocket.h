// SPDX-License-Identifier: Apache-2.0
// client/thrift/TShmSocket.h: a TSocket of Thrift over shared memory. It connects to the hatrpcd of
// this host, or to any server with a TShmServerSocket.
//
//   auto socket = std::make_shared<hatrpc::TShmSocket>("/run/hatrpcd/kv.ring");
//   auto transport = std::make_shared<TFramedTransport>(socket);
//   KvClient client(std::make_shared<TBinaryProtocol>(transport));
//   transport->open();
//
// A TShmSocket can replace a TSocket under every wrapper transport, and supports connect, receive
// and send time-outs, isOpen(), peek() and interrupts. It differs from a TSocket in three ways:
//
//   - A receive time-out applies to the whole wait.
//   - The total number of bytes of a connection has no limit.
//   - TNonblockingServer cannot use a TShmSocket, because that server reads sockets itself.
//
// A thread that waits first polls, on an idle core for at most HATRPC_SPIN_US microseconds
// (environment variable, default 1000), and then sleeps.
//
// Errors   TTransportException with the types of TSocket: NOT_OPEN, TIMED_OUT, INTERRUPTED; also
//          CORRUPTED_DATA if the other side violates the ring protocol.
// Thread   as for TSocket: one reader and one writer at a time.
// Format   docs/shm.md specifies the shared memory.
#ifndef HATRPC_TSHMSOCKET_H
#define HATRPC_TSHMSOCKET_H

#include <thrift/transport/TSocket.h>

#include <memory>
#include <string>

namespace hatrpc {

namespace ring {
class Socket;
}

class __attribute__((visibility("default"))) TShmSocket
    : public apache::thrift::transport::TSocket {
 public:
  // Creates a socket that open() connects to the server's unix socket at `path`. `path` can begin
  // with "shm:".
  explicit TShmSocket(const std::string& path,
                      std::shared_ptr<apache::thrift::TConfiguration> config = nullptr);
  // Takes ownership of a connection that a TShmServerSocket has accepted. The handshake is part of
  // the first read or write, so that a slow client does not delay other clients.
  TShmSocket(THRIFT_SOCKET accepted, std::shared_ptr<THRIFT_SOCKET> interrupt_listener,
             std::shared_ptr<apache::thrift::TConfiguration> config = nullptr);
  ~TShmSocket() override;

  void open() override;
  bool isOpen() const override;
  void close() override;
  bool peek() override;
  bool hasPendingDataToRead() override;
  uint32_t read(uint8_t* into, uint32_t bytes) override;
  void write(const uint8_t* from, uint32_t bytes) override;
  uint32_t write_partial(const uint8_t* from, uint32_t bytes) override;
  const std::string getOrigin() const override;

 private:
  ring::Socket& ring();
  int interrupter() const;

  std::unique_ptr<ring::Socket> ring_;
};

}  // namespace hatrpc

#endif  // HATRPC_TSHMSOCKET_H
