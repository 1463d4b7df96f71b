// SPDX-License-Identifier: Apache-2.0
// client/rdma/listening.h: the links that clients open to a TServerRdma, and the connections of
// clients on them. Each link has an inner node of its own (inner_node.h), so that the threads that
// serve different links do not wait for each other. A link of a hatrpcd carries many connections.
//
// Bounds   limits.max_links links; kBacklogMax connections that wait for accept().
// Thread   any; accept() one at a time.
#pragma once

#include <deque>
#include <list>
#include <memory>
#include <mutex>

#include "client/rdma/application_stream.h"
#include "client/rdma/inner_node.h"
#include "client/rdma/keeper.h"
#include "daemon/reactor/listen_socket.h"

namespace hatrpc::rdma {

class Listening {
 public:
  static constexpr size_t kBacklogMax = 1024;

  static hat::Result<std::unique_ptr<Listening>> open(Prepared prepared);
  ~Listening();

  uint16_t port() const { return socket_.address().port; }
  // Waits for the next connection of a client. Returns null after interrupt().
  std::shared_ptr<ApplicationStream> accept();
  // Makes accept() return null, now or once when it is called next.
  void interrupt();
  // Makes the reads of all connections return kInterrupted.
  void interrupt_streams();

 private:
  // A link, and the thread that keeps its loop.
  struct Served {
    std::unique_ptr<InnerNode> node;
    std::unique_ptr<ServerKeeper> keeper;  // ends before the node
  };

  Listening(Prepared prepared, hat::ListenSocket socket);
  void await_event();
  void accept_link();
  void forget_ended();
  void wake();
  std::unique_ptr<hat::ByteStream> connect(const std::shared_ptr<SharedLoop>& loop,
                                           hat::StreamEvents& events);

  const Prepared prepared_;
  const hat::ListenSocket socket_;
  const hat::Descriptor wake_;  // readable after news for accept()
  std::list<Served> links_;     // used only by accept() and the destructor

  std::mutex mutex_;  // protects the members below
  bool is_interrupted_ = false;
  std::deque<std::shared_ptr<ApplicationStream>> waiting_;
  std::vector<std::weak_ptr<ApplicationStream>> accepted_;
};

}  // namespace hatrpc::rdma
