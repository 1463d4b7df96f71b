// SPDX-License-Identifier: Apache-2.0
// tests/sim/sim_daemon.h: one simulated hatrpcd: one worker and its listeners. The simulation can
// start, drain, kill and restart it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/manifest.h"
#include "daemon/proxy/worker.h"
#include "engine/fabric/faulty/faulty_fabric.h"
#include "tests/sim/sim_reactor.h"

namespace hat::sim {

class SimDaemon {
 public:
  // Creates a daemon that does not run yet. If `faults` has a value, the daemon has RDMA lanes over
  // the loop fabric, with these faults injected. Otherwise it has no RDMA lanes.
  SimDaemon(SimNetwork& network, NodeConfig node, Manifest manifest,
            std::optional<engine::Faults> faults, uint64_t seed);
  ~SimDaemon() { kill(); }

  // Makes the daemon keep a link to each peer, as the first worker of a real daemon does. Otherwise
  // it does so or not after each start, at random.
  void keep_links() { keeps_links_ = true; }
  void start();
  void kill();
  // Drains the daemon as SIGTERM does: it exits when no call is in flight, or after
  // limits.drain_timeout.
  void drain();
  void freeze(Duration time) { host_.freeze(time); }
  // Reloads a configuration that `change` has edited. Does nothing if the daemon does not serve.
  void reload(const std::function<void(NodeConfig&)>& change);

  bool running() const { return worker_ != nullptr; }
  bool draining() const { return draining_; }
  // Returns true if the daemon runs and all its links to peers are up.
  bool links_are_up() const;
  // Returns how many drains reached limits.drain_timeout and so cut off calls in flight.
  uint64_t late_drains() const { return late_drains_; }
  const NodeConfig& node() const { return *node_; }
  const WorkerCounters& counters() const { return *counters_; }
  uint64_t calls_by_rdma() const { return by_rdma_before_ + calls_by_rdma_now(); }
  // Returns the number of trials of learned plans.
  uint64_t trials() const { return trials_before_ + trials_now(); }
  // Returns how often calls of clients were sent again.
  uint64_t retries() const { return retries_before_ + retries_now(); }
  // Returns how often streams of clients continued after the loss of their RDMA lane.
  uint64_t resumes() const { return resumes_before_ + resumes_now(); }
  // Returns a text that lists the open connections, buffered bytes and calls in flight that the
  // running daemon counts. An idle daemon has none of these, so the text must be empty.
  std::string not_at_rest() const;

 private:
  uint64_t calls_by_rdma_now() const;
  uint64_t trials_now() const;
  uint64_t retries_now() const;
  uint64_t resumes_now() const;
  std::shared_ptr<const RoutingTable> make_routes();
  void leave_if_drained(uint64_t generation, TimePoint until);

  SimNetwork& network_;
  SimHost host_;
  std::shared_ptr<const NodeConfig> node_;
  std::vector<ServedConfig> serves_;  // of all configurations so far
  const Manifest manifest_;
  const std::optional<engine::Faults> faults_;
  Random random_;
  uint64_t generation_ = 0;
  bool draining_ = false;
  bool keeps_links_ = false;
  uint64_t late_drains_ = 0;
  uint64_t by_rdma_before_ = 0;  // calls by RDMA before the daemon's last start
  uint64_t retries_before_ = 0;  // retries before the daemon's last start
  uint64_t resumes_before_ = 0;  // resumes before the daemon's last start
  uint64_t trials_before_ = 0;   // trials before the daemon's last end
  LearnedChoices kept_;          // what was learned before the daemon's last end
  std::unique_ptr<WorkerCounters> counters_;
  std::unique_ptr<DetachedConnections> detached_;
  std::unique_ptr<MetricsRegistry> metrics_;
  std::unique_ptr<engine::RdmaHost> rdma_;
  std::unique_ptr<Worker> worker_;
};

}  // namespace hat::sim
