// SPDX-License-Identifier: Apache-2.0
// bench/daemons/model_daemon.h: hatrpcd on a modelled host: the daemon's workers, routes and RDMA
// lanes, in virtual time. The process around them (sockets, signals, files) is not modelled.
//
// Thread   one thread runs all hosts of a model.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/model/host.h"
#include "bench/model/model_fabric.h"
#include "bench/model/model_reactor.h"
#include "config/manifest.h"
#include "daemon/proxy/worker.h"

namespace hat::bench {

class ModelDaemon {
 public:
  struct Setup {
    NodeConfig node;
    Manifest manifest;
    uint32_t workers = 1;
    bool rdma = true;                          // has lanes on the modelled card
    model::Wire local = model::Wire::kSocket;  // of clients
    model::Wire link = model::Wire::kTcp;      // of the link's TCP connection
  };
  // Starts the workers. The arguments must outlive the daemon.
  ModelDaemon(model::Host& host, model::Network& network, model::QueuePairs& pairs, Setup setup);
  ~ModelDaemon();

  // Returns the processor time that the workers have used.
  model::Time busy() const;
  // Returns how many calls of the client's side each way has carried: the names of the protocols of
  // the request and of the reply.
  std::map<std::pair<std::string, std::string>, uint64_t> ways();

 private:
  struct One {
    std::unique_ptr<model::ModelReactor> reactor;
    std::unique_ptr<engine::RdmaHost> rdma;
    WorkerCounters counters;
    std::unique_ptr<Worker> worker;
  };

  void start(One& one, size_t index, const Setup& setup,
             const std::shared_ptr<const NodeConfig>& node,
             const std::shared_ptr<const RoutingTable>& routes, model::Host& host,
             model::Network& network, model::QueuePairs& pairs);

  MetricsRegistry metrics_;
  DetachedConnections detached_;
  std::vector<std::unique_ptr<One>> workers_;
  size_t next_client_ = 0;  // the worker that accepts the next client
  size_t next_link_ = 0;
};

}  // namespace hat::bench
