// SPDX-License-Identifier: Apache-2.0
// client/thrift/TShmSocket.h: Thrift's TSocket over shared memory: to the hatrpcd of this host, or
// to any server with a TShmServerSocket.
//
//   auto socket = std::make_shared<hatrpc::TShmSocket>("/run/hatrpcd/kv.ring");
//   auto transport = std::make_shared<TFramedTransport>(socket);
//   KvClient client(std::make_shared<TBinaryProtocol>(transport));
//   transport->open();
//
// It stands wherever a TSocket stood: under every wrapper transport, with connect, receive and send
// time-outs, isOpen(), peek() and interrupts. What differs: a receive time-out holds for the whole
// wait; there is no limit on a connection's bytes in all; TNonblockingServer cannot use it, which
// reads sockets by itself.
//
// Waits by looking for a while, at most HATRPC_SPIN_US microseconds (default 1000), then sleeps.
//
// Errors   TTransportException, of TSocket's types: NOT_OPEN, TIMED_OUT, INTERRUPTED;
//          CORRUPTED_DATA where the other side breaks the ring's rules.
// Thread   as TSocket: one reader and one writer at a time.
// Source   docs/shm.md.
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
  // `path`: of the unix socket that hands the memory over; "shm:" may stand before it.
  explicit TShmSocket(const std::string& path,
                      std::shared_ptr<apache::thrift::TConfiguration> config = nullptr);
  // A connection that TShmServerSocket has accepted. Greets with its first read or write: who is
  // slow to answer holds up nobody else.
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
