// SPDX-License-Identifier: Apache-2.0
#include "config/worker_placement.h"

#include <algorithm>
#include <iterator>
#include <set>

namespace hat {
namespace {

uint32_t quarter_of(size_t cores) {
  return std::clamp<uint32_t>(static_cast<uint32_t>(cores / 4), 1, 8);
}

struct CoresOfNode {
  std::optional<int> node;  // nullopt: the kernel gives no node for these cores
  Cores cores;
};

// Divides `cores` by their NUMA nodes, in the order of the first core of each node.
std::vector<CoresOfNode> by_node(const Cores& cores, const NumaNodes& nodes) {
  std::vector<CoresOfNode> groups;
  CoresOfNode others;
  std::ranges::copy_if(cores, std::back_inserter(others.cores),
                       [&](int core) { return !node_of({core}, nodes); });
  if (!others.cores.empty()) groups.push_back(std::move(others));
  for (const auto& [node, all] : nodes) {
    CoresOfNode group{.node = node, .cores = {}};
    std::ranges::set_intersection(cores, all, std::back_inserter(group.cores));
    if (!group.cores.empty()) groups.push_back(std::move(group));
  }
  std::ranges::sort(groups, {}, [](const CoresOfNode& group) { return group.cores.front(); });
  return groups;
}

Result<void> check_listed(const Cores& cores, const HostCores& host) {
  Cores missing;
  if (!host.online.empty())
    std::ranges::set_difference(cores, host.online, std::back_inserter(missing));
  if (!missing.empty()) {
    return fail(ErrorCode::kInvalid, "this host has no core " + cores_text(missing) +
                                         " that is online; its cores are " +
                                         cores_text(host.online));
  }
  std::ranges::set_difference(cores, host.allowed, std::back_inserter(missing));
  if (missing.empty()) return {};
  return fail(ErrorCode::kInvalid,
              "hatrpcd may not run on core " + cores_text(missing) + ", only on " +
                  cores_text(host.allowed) +
                  "; list cores of these, or widen the process's affinity mask (CPUAffinity= or "
                  "AllowedCPUs= of its unit, taskset, the container's cpuset)");
}

// Places `count` workers on `groups`, one core for each if there are enough cores.
std::vector<WorkerPlacement> spread(size_t count, const std::vector<CoresOfNode>& groups) {
  size_t cores = 0;
  for (const CoresOfNode& group : groups) cores += group.cores.size();
  const bool own_cores = count <= cores;
  std::vector<size_t> taken(groups.size());
  std::vector<WorkerPlacement> placements;
  for (size_t at = 0; placements.size() < count; at = (at + 1) % groups.size()) {
    const CoresOfNode& group = groups[at];
    if (!own_cores) {
      placements.push_back({.cores = group.cores, .node = group.node});
    } else if (taken[at] < group.cores.size()) {
      placements.push_back({.cores = {group.cores[taken[at]++]}, .node = group.node});
    }
  }
  return placements;
}

}  // namespace

Result<int> find_nic_node(const FabricConfig& fabric, const NumaNodes& nodes,
                          std::map<std::string, int> devices) {
  if (nodes.size() == 1) return nodes.begin()->first;
  if (fabric.kind == FabricKind::kLoop || fabric.kind == FabricKind::kTcp) {
    return fail(ErrorCode::kNotFound, std::string("`fabric: ") +
                                          (fabric.kind == FabricKind::kTcp ? "tcp" : "loop") +
                                          "` uses no RDMA device");
  }
  if (!fabric.device.empty()) {
    std::erase_if(devices, [&](const auto& one) { return one.first != fabric.device; });
    if (devices.empty())
      return fail(ErrorCode::kNotFound, "this host has no RDMA device " + fabric.device);
  }
  if (devices.empty()) return fail(ErrorCode::kNotFound, "this host has no RDMA device");
  std::set<int> found;
  for (const auto& [name, node] : devices) found.insert(node);
  if (found.size() > 1) {
    return fail(ErrorCode::kNotFound,
                "the RDMA devices of this host are on different NUMA nodes; name one in "
                "`fabric.device`");
  }
  const int node = *found.begin();
  if (nodes.contains(node)) return node;
  return fail(ErrorCode::kNotFound,
              "the kernel gives no NUMA node with cores for RDMA device " + devices.begin()->first);
}

HostCores read_host_cores(const FabricConfig& fabric, Cores allowed, const std::string& root) {
  HostCores host{.allowed = std::move(allowed),
                 .online = read_online_cores(root),
                 .nodes = read_numa_nodes(root)};
  if (host.nodes.empty()) host.nodes[0] = host.online.empty() ? host.allowed : host.online;
  host.nic_node = find_nic_node(fabric, host.nodes, read_rdma_device_nodes(root));
  return host;
}

uint32_t count_nic_cores(const HostCores& host, uint32_t cores) {
  if (!host.nic_node) return cores;
  Cores near;
  std::ranges::set_intersection(host.allowed, host.nodes.at(*host.nic_node),
                                std::back_inserter(near));
  return near.empty() ? cores : std::min(cores, static_cast<uint32_t>(near.size()));
}

Result<std::vector<WorkerPlacement>> place_workers(const NodeConfig& node, const HostCores& host) {
  const WorkerCores& wanted = node.worker_cores;
  if (wanted.kind == WorkerCores::Kind::kAuto) {
    const size_t count = node.workers != 0 ? node.workers : quarter_of(host.allowed.size());
    return std::vector<WorkerPlacement>(count, {.node = node_of(host.allowed, host.nodes)});
  }
  std::vector<WorkerPlacement> placements;
  if (wanted.kind == WorkerCores::Kind::kNic) {
    if (!host.nic_node) {
      return fail(ErrorCode::kInvalid, "the NUMA node of the RDMA device is not known: " +
                                           host.nic_node.error().message +
                                           ". List the cores instead");
    }
    WorkerPlacement near{.node = *host.nic_node};
    std::ranges::set_intersection(host.allowed, host.nodes.at(*host.nic_node),
                                  std::back_inserter(near.cores));
    if (near.cores.empty()) {
      return fail(ErrorCode::kInvalid, "hatrpcd may run only on cores " + cores_text(host.allowed) +
                                           ", and none of them is on NUMA node " +
                                           std::to_string(*host.nic_node) + " of the RDMA device");
    }
    placements.assign(node.workers != 0 ? node.workers : quarter_of(near.cores.size()), near);
  } else {
    HAT_TRY_VOID(check_listed(wanted.cores, host));
    const size_t listed = std::min<size_t>(wanted.cores.size(), kWorkersMax);
    placements =
        spread(node.workers != 0 ? node.workers : listed, by_node(wanted.cores, host.nodes));
  }
  if (host.nodes.size() > 1) {
    for (WorkerPlacement& placement : placements) placement.memory_node = placement.node;
  }
  return placements;
}

}  // namespace hat
