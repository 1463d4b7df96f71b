// SPDX-License-Identifier: Apache-2.0
// client/rdma/TRdma.h: a transport of Thrift that carries calls over RDMA without any daemon: it
// takes the place of a TSocket (TRdma of HatRPC SC'21 4.3).
//
//   auto socket = std::make_shared<hatrpc::TRdma>("host-b", 9090, options);
//   auto transport = std::make_shared<TFramedTransport>(socket);
//   EchoClient client(std::make_shared<TBinaryProtocol>(transport));
//   transport->open();
//
// The server has a TServerRdma, or is a stock Thrift server whose host has a hatrpcd; the port is
// then that of `link.listen`. Each function is carried as its hints say (RdmaOptions::manifest):
// over an RDMA lane, or over TCP. Calls use TCP until the lane is up. If a call fails because the
// link has broken, the client gets the same TApplicationException as a client of a hatrpcd
// (docs/guarantees.md).
//
// A TRdma can replace a TSocket under TFramedTransport, TBufferedTransport and THeaderTransport.
// A stream with other bytes than Thrift messages (TZlibTransport, SASL) is carried without plans.
//
// Cost     Each TRdma has its own link and its own registered memory (`fabric.max_pinned`).
// Errors   TTransportException with the types of TSocket: NOT_OPEN, TIMED_OUT, END_OF_FILE;
//          BAD_ARGS if the options are wrong.
// Thread   as for TSocket: one reader and one writer at a time. A thread that waits runs the event
//          loop; while none waits, a thread of the library answers the server's pings. After
//          fork(2), the child must not use the TRdma.
#ifndef HATRPC_TRDMA_H
#define HATRPC_TRDMA_H

#include <thrift/transport/TVirtualTransport.h>

#include <cstdint>
#include <memory>
#include <string>

#include "rdma_options.h"

namespace hatrpc {

namespace rdma {
class ApplicationStream;
class Connection;
}  // namespace rdma

class __attribute__((visibility("default"))) TRdma
    : public apache::thrift::transport::TVirtualTransport<TRdma> {
 public:
  // Creates a transport that open() connects to `host`:`port`.
  TRdma(std::string host, int port, RdmaOptions options,
        std::shared_ptr<apache::thrift::TConfiguration> config = nullptr);
  ~TRdma() override;

  // Sets the time-out of open(), of the wait of a read, or of the wait of a write for space, in
  // milliseconds. The value 0, the default, means none.
  void setConnTimeout(int ms) { connect_timeout_ms_ = ms; }
  void setRecvTimeout(int ms) { receive_timeout_ms_ = ms; }
  void setSendTimeout(int ms) { send_timeout_ms_ = ms; }

  bool isOpen() const override;
  bool peek() override;
  // Connects. Returns when the link is up; its RDMA lanes come up later.
  void open() override;
  // Sends what was written, which takes a second at most, and disconnects.
  void close() override;
  uint32_t read(uint8_t* into, uint32_t bytes);
  void write(const uint8_t* from, uint32_t bytes);
  void flush() override;
  const std::string getOrigin() const override;
  // Returns a text for people: the fabric, and each RDMA lane with its protocol and "up" or the
  // reason why calls use TCP. For example: "loop: memory shared with peers on this host;
  // direct_write_imm: up". Empty if the transport is not open, or was accepted by a TServerRdma.
  std::string describe() const;

 private:
  friend class TServerRdma;
  // Takes ownership of a stream that a TServerRdma has accepted.
  TRdma(std::shared_ptr<rdma::ApplicationStream> accepted,
        std::shared_ptr<apache::thrift::TConfiguration> config);
  rdma::ApplicationStream& stream();

  const std::string host_;
  const int port_ = 0;
  const RdmaOptions options_;
  int connect_timeout_ms_ = 0;
  int receive_timeout_ms_ = 0;
  int send_timeout_ms_ = 0;
  std::unique_ptr<rdma::Connection> connection_;     // null if a TServerRdma has accepted
  std::shared_ptr<rdma::ApplicationStream> stream_;  // null while the transport is not open
};

}  // namespace hatrpc

#endif  // HATRPC_TRDMA_H
