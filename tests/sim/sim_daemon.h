// tests/sim/sim_daemon.h: one hatrpcd of the simulation: a worker with its listeners, which starts,
// drains, dies and starts again.
#pragma once

#include <memory>
#include <string>

#include "config/manifest.h"
#include "daemon/worker.h"
#include "tests/sim/sim_reactor.h"

namespace hat::sim {

class SimDaemon {
 public:
  SimDaemon(SimNetwork& network, NodeConfig node, Manifest manifest, uint64_t seed);
  ~SimDaemon() { kill(); }

  void start();
  void kill();
  // As on SIGTERM: leaves when nothing is in flight, or after limits.drain_timeout.
  void drain();
  void freeze(Duration time) { host_.freeze(time); }

  bool running() const { return worker_ != nullptr; }
  bool draining() const { return draining_; }
  // Drains that ended with calls in flight.
  uint64_t late_drains() const { return late_drains_; }
  const NodeConfig& node() const { return *node_; }
  const WorkerCounters& counters() const { return *counters_; }
  // Empty, or what the counters of this run of the daemon should not say at rest.
  std::string not_at_rest() const;

 private:
  void leave_if_drained(uint64_t generation, TimePoint until);

  SimNetwork& network_;
  SimHost host_;
  const std::shared_ptr<const NodeConfig> node_;
  const Manifest manifest_;
  Random random_;
  uint64_t generation_ = 0;
  bool draining_ = false;
  uint64_t late_drains_ = 0;
  std::unique_ptr<WorkerCounters> counters_;
  std::unique_ptr<MetricsRegistry> metrics_;
  std::unique_ptr<Worker> worker_;
};

}  // namespace hat::sim
