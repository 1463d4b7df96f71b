// SPDX-License-Identifier: Apache-2.0
// hatctl/doctor/examined.h: all facts about a host, its daemon and its peers that the checks of
// `hatctl doctor` use, in one struct.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/diagnostics.h"
#include "config/node.h"
#include "config/profile.h"
#include "config/worker_placement.h"
#include "engine/fabric/verbs/verbs_fabric.h"
#include "hatctl/doctor/daemon_state.h"
#include "hatctl/doctor/host.h"
#include "hatctl/doctor/peer_probe.h"
#include "hatctl/doctor/tls_files.h"

namespace hat::doctor {

// The node's configuration with its manifests, as `hatrpcd --check` reads them.
struct NodeFile {
  std::string path;
  std::string why;  // why doctor checks this file: "named by --config", …
  bool present = false;
  Diagnostics diagnostics;             // all diagnostics except those about the files of `link.tls`
  std::string summary;                 // "node host-a, 1 peer, …"
  NodeConfig node;                     // the defaults, if the file does not exist or has errors
  std::vector<NamedProfile> profiles;  // Configuration::profiles
};

struct Examined {
  std::string version;  // the version of hatctl
  Host host;
  NodeFile file;
  TlsFiles tls;
  int64_t unix_now = 0;  // seconds since 1970
  DaemonState daemon;
  std::vector<PeerProbe> peers;
  // The reports of the daemon's code about each RDMA device. hatctl runs this code itself, with the
  // rights of the user who runs hatctl. The list is empty if the configuration wants no device, or
  // if the host has none.
  std::vector<engine::DeviceReport> reports;

  // Returns the process whose limits and processors the checks judge: the daemon, or hatctl if the
  // daemon does not run or cannot be seen.
  const Process& process() const { return host.daemon ? *host.daemon : host.self; }
  // Returns the process whose rights to open devices and files the checks judge: the daemon, else
  // the service user, else hatctl.
  const Process& opener() const {
    if (host.daemon) return *host.daemon;
    return host.service_user ? *host.service_user : host.self;
  }
  // Returns the placement of the daemon's workers by this configuration; an error if `worker_cores`
  // does not fit the host or the process.
  Result<std::vector<WorkerPlacement>> placements() const {
    std::map<std::string, int> devices;
    for (const RdmaDevice& device : host.devices) devices[device.name] = device.numa_node;
    HostCores cores{.allowed = process().cpus, .online = host.online_cpus, .nodes = host.numa_cpus};
    cores.nic_node = find_nic_node(file.node.fabric, cores.nodes, std::move(devices));
    return place_workers(file.node, cores);
  }
  // Returns the number of the daemon's workers; if the daemon does not answer, the number that it
  // would have with this configuration.
  uint64_t workers() const {
    if (daemon.answers() && daemon.workers != 0) return daemon.workers;
    const auto placed = placements();
    return placed ? placed->size() : 1;
  }
  bool wants_device() const {
    const FabricKind kind = file.node.fabric.kind;
    return kind == FabricKind::kAuto || kind == FabricKind::kVerbs;
  }
  // Returns how many bytes of memory the daemon registers for RDMA.
  uint64_t rdma_bytes() const { return workers() * registered_bytes(file.node.fabric); }
};

}  // namespace hat::doctor
