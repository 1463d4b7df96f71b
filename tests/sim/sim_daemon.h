// SPDX-License-Identifier: Apache-2.0
// tests/sim/sim_daemon.h: one hatrpcd of the simulation: a worker with its listeners, which starts,
// drains, dies and starts again.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "config/manifest.h"
#include "daemon/proxy/worker.h"
#include "engine/fabric/faulty/faulty_fabric.h"
#include "tests/sim/sim_reactor.h"

namespace hat::sim {

class SimDaemon {
 public:
  // Has RDMA lanes over the loop fabric, whose queue pairs break as `faults` says; none without
  // `faults`.
  SimDaemon(SimNetwork& network, NodeConfig node, Manifest manifest,
            std::optional<engine::Faults> faults, uint64_t seed);
  ~SimDaemon() { kill(); }

  void start();
  void kill();
  // Drains as on SIGTERM: leaves when nothing is in flight, or after limits.drain_timeout.
  void drain();
  void freeze(Duration time) { host_.freeze(time); }

  bool running() const { return worker_ != nullptr; }
  bool draining() const { return draining_; }
  // Returns how many drains lasted until limits.drain_timeout, so that calls in flight were cut.
  uint64_t late_drains() const { return late_drains_; }
  const NodeConfig& node() const { return *node_; }
  const WorkerCounters& counters() const { return *counters_; }
  uint64_t calls_by_rdma() const { return by_rdma_before_ + calls_by_rdma_now(); }
  // Returns the counters of this run of the daemon that are wrong for a daemon at rest; empty if
  // none.
  std::string not_at_rest() const;

 private:
  uint64_t calls_by_rdma_now() const;
  void leave_if_drained(uint64_t generation, TimePoint until);

  SimNetwork& network_;
  SimHost host_;
  const std::shared_ptr<const NodeConfig> node_;
  const Manifest manifest_;
  const std::optional<engine::Faults> faults_;
  Random random_;
  uint64_t generation_ = 0;
  bool draining_ = false;
  uint64_t late_drains_ = 0;
  uint64_t by_rdma_before_ = 0;  // in earlier runs of the daemon
  std::unique_ptr<WorkerCounters> counters_;
  std::unique_ptr<DetachedConnections> detached_;
  std::unique_ptr<MetricsRegistry> metrics_;
  std::unique_ptr<engine::RdmaHost> rdma_;
  std::unique_ptr<Worker> worker_;
};

}  // namespace hat::sim
