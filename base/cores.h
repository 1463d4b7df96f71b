// SPDX-License-Identifier: Apache-2.0
// base/cores.h: the cores (processors) of this host and their NUMA nodes. Reads which cores and
// nodes there are, binds a thread to cores, and requests memory on a node.
//
// A NUMA node is a group of cores with memory of their own. Each core reaches the memory of its
// node faster than the memory of other nodes.
//
// Source   sched_setaffinity(2), mbind(2); the kernel's Documentation/ABI/stable/sysfs-devices-node
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hat {

using Cores = std::vector<int>;          // numbers of cores, ascending, each one once
using NumaNodes = std::map<int, Cores>;  // the cores of each NUMA node, by the node's number

// The largest number of a core: Linux supports 8192 cores at most (CONFIG_NR_CPUS).
inline constexpr int kCoreMax = 8191;

// The largest number of a NUMA node: Linux supports 1024 nodes at most (CONFIG_NODES_SHIFT).
inline constexpr int kNumaNodeMax = 1023;

// Returns the cores in a list such as "0-3,8", the form in which the kernel and systemd write sets
// of cores. Spaces after a comma are permitted. Returns nullopt if the list is empty, or if a part
// of the list is not a number or a range from 0 to kCoreMax.
std::optional<Cores> parse_cores(std::string_view text);
// Returns the list in the form "0-3,8".
std::string cores_text(const Cores& cores);

// The functions that read /sys find it below `root`, which is "" except in tests.

// Returns the cores that the kernel can use now. Returns no cores if /sys does not say.
Cores read_online_cores(const std::string& root = "");
// Returns the NUMA nodes that have cores. Returns no node if the kernel has no support for NUMA.
NumaNodes read_numa_nodes(const std::string& root = "");
// Returns the NUMA node of each RDMA device of this host, by the device's name. A device that
// belongs to no node has the value -1, as on hosts with one node.
std::map<std::string, int> read_rdma_device_nodes(const std::string& root = "");
// Returns the node to which all of `cores` belong; nullopt if there is no such node.
std::optional<int> node_of(const Cores& cores, const NumaNodes& nodes);

// Returns the cores on which the calling thread may run. Returns no cores if the kernel does not
// say.
Cores allowed_cores();
// Lets the calling thread run only on `cores`. Fails if the thread may not run on any of them.
Result<void> bind_thread(const Cores& cores);

// Requests that the pages of a shared mapping (MAP_SHARED) that nobody has used yet come from
// `node`, whichever process uses them first. If the node has no free memory, they come from another
// node. Fails if the kernel or the container's seccomp filter does not permit mbind(2).
Result<void> prefer_numa_node(std::span<std::byte> memory, int node);

}  // namespace hat
