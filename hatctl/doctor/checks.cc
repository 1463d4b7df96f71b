// SPDX-License-Identifier: Apache-2.0
#include "hatctl/doctor/checks.h"

#include <array>

namespace hat::doctor {
namespace {

constexpr std::array kChecks = {
    Check{"configuration", check_configuration},
    Check{"daemon", check_daemon},
    Check{"security", check_security},
    Check{"fabric", check_fabric},
    Check{"profile", check_profile},
    Check{"modules", check_modules},
    Check{"devices", check_devices},
    Check{"ports", check_ports},
    Check{"gids", check_gids},
    Check{"mtu", check_mtu},
    Check{"congestion", check_congestion},
    Check{"memlock", check_memlock},
    Check{"memory", check_memory},
    Check{"cgroup", check_cgroup},
    Check{"capabilities", check_capabilities},
    Check{"descriptors", check_descriptors},
    Check{"numa", check_numa},
    Check{"cores", check_cores},
    Check{"clock", check_clock},
    Check{"peers", check_peers},
};

}  // namespace

std::span<const Check> checks() { return kChecks; }

Findings judge(const Examined& examined) {
  Findings findings;
  for (const Check& check : kChecks) {
    findings.begin(check.name);
    check.judge(examined, findings);
  }
  return findings;
}

}  // namespace hat::doctor
