// SPDX-License-Identifier: Apache-2.0
// hatctl/doctor/examined.h: everything that is judged, in one place.
#pragma once

#include <string>
#include <vector>

#include "config/mistakes.h"
#include "config/node.h"
#include "engine/fabric/verbs/verbs_fabric.h"
#include "hatctl/doctor/daemon_state.h"
#include "hatctl/doctor/host.h"
#include "hatctl/doctor/peer_probe.h"
#include "hatctl/doctor/tls_files.h"

namespace hat::doctor {

// The node's configuration with its manifests, as `hatrpcd --check` reads them.
struct NodeFile {
  std::string path;
  std::string why;  // this one is judged: "the one that the hatrpcd at … runs with", …
  bool present = false;
  Mistakes mistakes;    // but those of link.tls' files
  std::string summary;  // "node host-a, 1 peer, …"
  NodeConfig node;      // the defaults, where there is none or it has errors
};

struct Examined {
  std::string version;  // hatctl's
  Host host;
  NodeFile file;
  TlsFiles tls;
  int64_t unix_now = 0;  // seconds
  DaemonState daemon;
  std::vector<PeerProbe> peers;
  // What the daemon's own code makes of each device, run as whoever runs hatctl; empty: not asked,
  // or there is none.
  std::vector<engine::DeviceReport> reports;

  // Whose limits and processors count: the daemon's; while it does not run, those of hatctl.
  const Process& process() const { return host.daemon ? *host.daemon : host.self; }
  // Whose rights count when devices are opened.
  const Process& opener() const {
    if (host.daemon) return *host.daemon;
    return host.service_user ? *host.service_user : host.self;
  }
  uint64_t workers() const {
    if (daemon.answers() && daemon.workers != 0) return daemon.workers;
    return workers_of(file.node, static_cast<uint32_t>(process().cpus.size()));
  }
  bool wants_device() const {
    const FabricKind kind = file.node.fabric.kind;
    return kind == FabricKind::kAuto || kind == FabricKind::kVerbs;
  }
  uint64_t rdma_bytes() const { return workers() * registered_bytes(file.node.fabric); }
};

}  // namespace hat::doctor
