// SPDX-License-Identifier: Apache-2.0
// config/worker_placement.h: decides on which cores each worker runs, from the keys `workers` and
// `worker_cores` of hatrpcd.yaml and from the cores and NUMA nodes of the host.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/cores.h"
#include "base/result.h"
#include "config/node.h"

namespace hat {

// The facts about a host on which the placement of workers depends.
struct HostCores {
  Cores allowed;    // the cores on which the process may run (its affinity mask)
  Cores online;     // the cores that the kernel can use; empty if it does not say
  NumaNodes nodes;  // at least one: a host without NUMA has node 0 with all cores
  // The NUMA node of the node's RDMA device; an error if it is not known.
  Result<int> nic_node = fail(ErrorCode::kNotFound, "it was not looked for");
};

// Returns the NUMA node of the RDMA device that `fabric` names; if it names none, the node of all
// devices. `devices` has the NUMA node of each RDMA device of the host (read_rdma_device_nodes()).
// On a host with one node, the result is this node.
Result<int> find_nic_node(const FabricConfig& fabric, const NumaNodes& nodes,
                          std::map<std::string, int> devices);

// Reads the facts about this host. `allowed` are the cores on which the daemon may run. `root`
// is "" except in tests.
HostCores read_host_cores(const FabricConfig& fabric, Cores allowed, const std::string& root = "");

// Returns how many of the host's allowed cores are on the NUMA node of its RDMA device: from 1 to
// `cores`, which is the number of the allowed cores, or another number if they are not known.
// Returns `cores` if the node is not known or has none of the allowed cores.
uint32_t count_nic_cores(const HostCores& host, uint32_t cores);

// The cores and the NUMA node of one worker.
struct WorkerPlacement {
  Cores cores;              // the worker is bound to these cores; empty: it is not bound
  std::optional<int> node;  // the NUMA node of all cores on which it runs; nullopt: several nodes
  // The node on which the worker's memory is requested; nullopt if the worker is not bound to one
  // node, or if the host has only one.
  std::optional<int> memory_node;

  friend bool operator==(const WorkerPlacement&, const WorkerPlacement&) = default;
};

// Returns the placement of each worker. Workers take turns on the NUMA nodes of the listed cores.
// Within a node, each worker gets a core of its own. If there are more workers than listed cores,
// each worker may run on all listed cores of its node. With `worker_cores: nic`, each worker may
// run on all cores of the RDMA device's node. Fails if the process may not run on a listed core.
Result<std::vector<WorkerPlacement>> place_workers(const NodeConfig& node, const HostCores& host);

}  // namespace hat
