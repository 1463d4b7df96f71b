// SPDX-License-Identifier: Apache-2.0
// client/rdma/inner_node.h: a worker of hatrpcd in the process of an application, with all that it
// needs: an event loop, the fabric, TLS, routes and counters. It carries calls exactly as a
// daemon's worker does, so the process at the other end of the link can have a hatrpcd or an inner
// node.
//
// Thread   any thread. `worker` and what belongs to it may be used only in the loop.
#pragma once

#include <memory>
#include <string>

#include "client/rdma/prepared.h"
#include "client/rdma/shared_loop.h"
#include "daemon/process/rdma.h"
#include "daemon/proxy/worker.h"
#include "daemon/tls/tls_seal.h"

namespace hatrpc::rdma {

class InnerNode {
 public:
  // Opens the fabric. An error says what could not be opened.
  static hat::Result<std::unique_ptr<InnerNode>> open(Prepared prepared);
  ~InnerNode();
  InnerNode(const InnerNode&) = delete;
  InnerNode& operator=(const InnerNode&) = delete;

  // Returns the loop, which outlives the node as long as a stream to it exists.
  const std::shared_ptr<SharedLoop>& loop() const { return loop_; }
  hat::Worker& worker() { return *worker_; }
  // Returns a description of the fabric, or says why there is none.
  const std::string& fabric() const { return rdma_.what; }

 private:
  explicit InnerNode(std::shared_ptr<const hat::NodeConfig> node) : node_(std::move(node)) {}
  hat::Result<void> start(Prepared prepared);
  std::shared_ptr<const hat::RoutingTable> routes(const Prepared& prepared);

  const std::shared_ptr<const hat::NodeConfig> node_;
  const std::shared_ptr<SharedLoop> loop_ = std::make_shared<SharedLoop>();
  hat::MetricsRegistry functions_{1};
  hat::WorkerCounters counters_;
  hat::DetachedConnections detached_;
  // In the order of the event loop: the RDMA host polls before the worker handles its messages.
  hat::OpenedRdma rdma_;
  std::unique_ptr<hat::TlsSeal> seal_;
  std::unique_ptr<hat::Worker> worker_;
};

}  // namespace hatrpc::rdma
