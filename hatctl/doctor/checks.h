// SPDX-License-Identifier: Apache-2.0
// hatctl/doctor/checks.h: what is checked: one table of pure functions over what was read.
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
std::span<const Check> checks();

// All of them, in the table's order.
Findings judge(const Examined& examined);

// check_node.cc: what is configured, and what runs.
void check_configuration(const Examined& examined, Findings& findings);
void check_daemon(const Examined& examined, Findings& findings);
void check_peers(const Examined& examined, Findings& findings);

// check_security.cc: what links are made with.
void check_security(const Examined& examined, Findings& findings);

// check_fabric.cc: what RDMA lanes will be made of.
void check_fabric(const Examined& examined, Findings& findings);
void check_modules(const Examined& examined, Findings& findings);

// check_devices.cc: each device, its ports and addresses.
void check_devices(const Examined& examined, Findings& findings);
void check_ports(const Examined& examined, Findings& findings);
void check_gids(const Examined& examined, Findings& findings);
void check_mtu(const Examined& examined, Findings& findings);
void check_congestion(const Examined& examined, Findings& findings);

// check_limits.cc: what the host allows hatrpcd.
void check_memlock(const Examined& examined, Findings& findings);
void check_memory(const Examined& examined, Findings& findings);
void check_cgroup(const Examined& examined, Findings& findings);
void check_capabilities(const Examined& examined, Findings& findings);
void check_descriptors(const Examined& examined, Findings& findings);

// check_processors.cc: on which cores, near which memory, by which clock.
void check_numa(const Examined& examined, Findings& findings);
void check_cores(const Examined& examined, Findings& findings);
void check_clock(const Examined& examined, Findings& findings);

}  // namespace hat::doctor
