// SPDX-License-Identifier: Apache-2.0
// hatctl/doctor/checks.h: the checks of `hatctl doctor`, which finds problems of a host. Each check
// is a pure function: it reads the facts in Examined and adds findings, and does no I/O.
#pragma once

#include <span>
#include <string_view>

#include "hatctl/doctor/examined.h"
#include "hatctl/doctor/findings.h"

namespace hat::doctor {

struct Check {
  std::string_view name;
  void (*judge)(const Examined& examined, Findings& findings);
};
// Returns all checks, in the order in which they run.
std::span<const Check> checks();

// Runs all checks and returns their findings.
Findings judge(const Examined& examined);

// Checks the node's configuration, the running daemon and the peers (check_node.cc).
void check_configuration(const Examined& examined, Findings& findings);
void check_daemon(const Examined& examined, Findings& findings);
void check_peers(const Examined& examined, Findings& findings);

// Checks the certificate, key and CA of links (check_security.cc).
void check_security(const Examined& examined, Findings& findings);

// Checks the file of measured costs (check_profile.cc).
void check_profile(const Examined& examined, Findings& findings);

// Checks the fabric that RDMA lanes use, and its kernel modules (check_fabric.cc).
void check_fabric(const Examined& examined, Findings& findings);
void check_modules(const Examined& examined, Findings& findings);

// Checks each RDMA device, its ports and addresses (check_devices.cc).
void check_devices(const Examined& examined, Findings& findings);
void check_ports(const Examined& examined, Findings& findings);
void check_gids(const Examined& examined, Findings& findings);
void check_mtu(const Examined& examined, Findings& findings);
void check_congestion(const Examined& examined, Findings& findings);

// Checks the limits that the host sets for hatrpcd (check_limits.cc).
void check_memlock(const Examined& examined, Findings& findings);
void check_memory(const Examined& examined, Findings& findings);
void check_cgroup(const Examined& examined, Findings& findings);
void check_capabilities(const Examined& examined, Findings& findings);
void check_descriptors(const Examined& examined, Findings& findings);

// Checks the cores and the NUMA node on which hatrpcd runs, and the clock that it reads
// (check_processors.cc).
void check_numa(const Examined& examined, Findings& findings);
void check_cores(const Examined& examined, Findings& findings);
void check_clock(const Examined& examined, Findings& findings);

}  // namespace hat::doctor
