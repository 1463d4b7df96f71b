// SPDX-License-Identifier: Apache-2.0
// client/thrift/TShmSocket.h: Thrift's TSocket over shared memory, to the hatrpcd of this host or
// to any server with a TShmServerSocket.
//
//   auto socket = std::make_shared<hatrpc::TShmSocket>("/run/hatrpcd/kv.ring");
//   auto transport = std::make_shared<TFramedTransport>(socket);
//   KvClient client(std::make_shared<TBinaryProtocol>(transport));
//   transport->open();
//
// It replaces a TSocket under every wrapper transport, and has connect, receive and send time-outs,
// isOpen(), peek() and interrupts. Three things differ: a receive time-out applies to the whole
// wait; the total bytes of a connection have no limit; TNonblockingServer cannot use it, because
// that server reads sockets itself.
//
// A thread that waits spins first, for at most HATRPC_SPIN_US microseconds (default 1000), and then
// sleeps.
//
// Errors   TTransportException, of TSocket's types: NOT_OPEN, TIMED_OUT, INTERRUPTED;
//          CORRUPTED_DATA if the other side breaks the ring's rules.
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
  // `path` is the path of the unix socket that hands over the memory; it may begin with "shm:".
  explicit TShmSocket(const std::string& path,
                      std::shared_ptr<apache::thrift::TConfiguration> config = nullptr);
  // Takes a connection that TShmServerSocket has accepted. The handshake runs with the first read
  // or write, so a client that is slow to answer delays no other client.
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
