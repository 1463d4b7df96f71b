// SPDX-License-Identifier: Apache-2.0
// hatctl/doctor/check_processors.cc: checks the cores on which hatrpcd runs, whether they are near
// its RDMA device, how long tasks wait for a core, and which clock source the host uses.
#include <algorithm>
#include <array>
#include <set>

#include "base/quantities.h"
#include "hatctl/doctor/checks.h"
#include "hatctl/doctor/device_rule.h"

namespace hat::doctor {
namespace {

// If some task waited for a processor, or for memory, during more than this percentage of the last
// minute, doctor warns.
constexpr double kCpuPressureMax = 20;
constexpr double kMemoryPressureMax = 5;

// Clock sources that a program reads without a system call.
constexpr std::array<std::string_view, 4> kQuickClocks = {
    "tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter"};

constexpr const char* kBindNear = "   # worker_cores: nic; then systemctl restart hatrpcd";

bool share_any(const Cores& one, const Cores& other) {
  return std::ranges::find_first_of(one, other) != one.end();
}

void judge_pressure(const char* what, std::optional<double> percent, double most,
                    const std::string& text, const std::string& mend, Findings& findings) {
  if (!percent) return;
  const std::string share = count_text(*percent) + " % of the last minute";
  if (*percent <= most) {
    findings.ok(what, "tasks waited for it during " + share);
  } else {
    findings.warn(what, "tasks waited for it during " + share + ": " + text, mend);
  }
}

// Returns the processors on which the workers run: those to which they are bound, or else those on
// which the process may run.
Cores cores_of_workers(const Examined& examined, const std::vector<WorkerPlacement>& placements) {
  std::set<int> all;
  for (const WorkerPlacement& one : placements) all.insert(one.cores.begin(), one.cores.end());
  return all.empty() ? examined.process().cpus : Cores(all.begin(), all.end());
}

}  // namespace

void check_numa(const Examined& examined, Findings& findings) {
  const Host& host = examined.host;
  const auto placements = examined.placements();
  if (!placements) {
    return findings.warn(
        "", "worker_cores: " + placements.error().message,
        "editor " + examined.file.path + "   # worker_cores; then systemctl restart hatrpcd");
  }
  const auto judged = judge_devices(examined);
  const Judged* choice = chosen(judged);
  if (host.numa_cpus.size() < 2)
    return findings.ok("", "one NUMA node: all memory is equally near");
  if (choice == nullptr || choice->device->numa_node < 0) {
    return findings.ok("",
                       std::to_string(host.numa_cpus.size()) +
                           " NUMA nodes, and hatrpcd uses no RDMA device that is near one of them");
  }
  const std::string& name = choice->device->name;
  const std::string node = std::to_string(choice->device->numa_node);
  const auto near = host.numa_cpus.find(choice->device->numa_node);
  const Cores cpus = cores_of_workers(examined, *placements);
  const bool bound = !placements->front().cores.empty();
  if (near == host.numa_cpus.end()) {
    return findings.ok(name, "on NUMA node " + node + ", whose processors are not known");
  }
  if (share_any(cpus, near->second)) {
    const bool only = std::ranges::includes(near->second, cpus);
    return findings.ok(
        name,
        "on NUMA node " + node + "; " +
            (bound                  ? "the workers are bound to"
             : examined.host.daemon ? "hatrpcd may run on"
                                    : "hatctl may run on") +
            " processors " + cores_text(cpus) +
            (only    ? ", which are all on this node"
             : bound ? ", which include processors of this node"
                     : ", which include processors of this node; `worker_cores: nic` binds the "
                       "workers to these"));
  }
  if (bound) {
    return findings.warn(name,
                         "on NUMA node " + node + ", but the workers are bound to processors " +
                             cores_text(cpus) +
                             " of another node: each access crosses between the nodes",
                         "editor " + examined.file.path + kBindNear);
  }
  findings.warn(name,
                "on NUMA node " + node + ", but hatrpcd runs on processors " + cores_text(cpus) +
                    " of another node: each access crosses between the nodes",
                "taskset -apc " + cores_text(near->second) + " " +
                    std::to_string(examined.process().pid) +
                    "   # to keep it after a restart, correct CPUAffinity= in its unit");
}

void check_cores(const Examined& examined, Findings& findings) {
  const Host& host = examined.host;
  const Cores& cpus = examined.process().cpus;
  const std::string counts =
      plural(examined.workers(), "worker") + " on " + plural(cpus.size(), "core");
  if (examined.workers() >= cpus.size() && cpus.size() > 1) {
    findings.warn("", counts + ": workers that poll leave no core to the applications",
                  "editor " + examined.file.path +
                      (examined.file.node.worker_cores.kind == WorkerCores::Kind::kListed
                           ? "   # list fewer cores in worker_cores"
                           : "   # workers: auto") +
                      "; then systemctl restart hatrpcd");
  } else {
    findings.ok("", counts + (host.isolated_cpus.empty()
                                  ? ""
                                  : "; isolated: " + cores_text(host.isolated_cpus)));
  }
  judge_pressure("processor time", host.cpu_pressure, kCpuPressureMax,
                 "latencies are higher on a busy host",
                 "top   # shows which processes; run fewer of them, or add cores", findings);
  judge_pressure(
      "memory", host.memory_pressure, kMemoryPressureMax,
      "memory is short, and pages are reclaimed",
      "grep -E 'MemAvailable|Swap' /proc/meminfo   # then find the processes that use the memory",
      findings);
}

void check_clock(const Examined& examined, Findings& findings) {
  const std::string& source = examined.host.clock_source;
  if (source.empty()) return findings.ok("", "the clock source cannot be read here");
  if (std::ranges::find(kQuickClocks, source) != kQuickClocks.end()) return findings.ok("", source);
  findings.warn(
      "",
      source +
          ": each reading of this clock is a system call, and hatrpcd reads it in every iteration",
      "echo tsc >/sys/devices/system/clocksource/clocksource0/current_clocksource   # if "
      "available_clocksource in the same directory lists tsc");
}

}  // namespace hat::doctor
