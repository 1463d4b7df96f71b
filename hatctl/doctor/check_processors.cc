// SPDX-License-Identifier: Apache-2.0
// hatctl/doctor/check_processors.cc: checks the cores on which hatrpcd runs, whether they are near
// its RDMA device, how long tasks wait for a core, and which clock source the host uses.
#include <algorithm>
#include <array>

#include "hatctl/doctor/checks.h"
#include "hatctl/doctor/device_rule.h"
#include "hatctl/quantities.h"

namespace hat::doctor {
namespace {

constexpr double kCpuPressureMax = 20;    // percent of a minute
constexpr double kMemoryPressureMax = 5;  // likewise

// Clock sources that a program reads without a system call.
constexpr std::array<std::string_view, 4> kQuickClocks = {
    "tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter"};

// Returns the numbers in the form "0-3,8".
std::string list_text(const std::vector<int>& numbers) {
  std::string text;
  for (size_t i = 0; i < numbers.size();) {
    size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    text += (text.empty() ? "" : ",") + std::to_string(numbers[i]);
    if (last != i) text += "-" + std::to_string(numbers[last]);
    i = last + 1;
  }
  return text;
}

bool share_any(const std::vector<int>& one, const std::vector<int>& other) {
  return std::ranges::find_first_of(one, other) != one.end();
}

void judge_pressure(const char* what, std::optional<double> percent, double most,
                    const std::string& text, const std::string& mend, Findings& findings) {
  if (!percent) return;
  const std::string share = hatctl::count_text(*percent) + " % of the last minute";
  if (*percent <= most) {
    findings.ok(what, "somebody waited for it in " + share);
  } else {
    findings.warn(what, "somebody waited for it in " + share + ": " + text, mend);
  }
}

}  // namespace

void check_numa(const Examined& examined, Findings& findings) {
  const Host& host = examined.host;
  const auto judged = judge_devices(examined);
  const Judged* choice = chosen(judged);
  if (host.numa_cpus.size() < 2) return findings.ok("", "one node: all memory is as near");
  if (choice == nullptr || choice->device->numa_node < 0) {
    return findings.ok(
        "", std::to_string(host.numa_cpus.size()) + " nodes, and no device that is near to one");
  }
  const std::string& name = choice->device->name;
  const std::string node = std::to_string(choice->device->numa_node);
  const auto near = host.numa_cpus.find(choice->device->numa_node);
  const std::vector<int>& cpus = examined.process().cpus;
  if (near == host.numa_cpus.end() || share_any(cpus, near->second)) {
    const bool only = near != host.numa_cpus.end() && std::ranges::includes(near->second, cpus);
    return findings.ok(name, "on node " + node + "; " +
                                 (examined.host.daemon ? "hatrpcd" : "hatctl") +
                                 " may run on processors " + list_text(cpus) +
                                 (only ? ", all that node's" : ", that node's among them"));
  }
  findings.warn(name,
                "on node " + node + ", and hatrpcd runs on processors " + list_text(cpus) +
                    " of another: each access crosses between them",
                "taskset -apc " + list_text(near->second) + " " +
                    std::to_string(examined.process().pid) +
                    "   # for good: CPUAffinity= in its unit");
}

void check_cores(const Examined& examined, Findings& findings) {
  const Host& host = examined.host;
  const std::vector<int>& cpus = examined.process().cpus;
  const std::string counts =
      hatctl::plural(examined.workers(), "worker") + " on " + hatctl::plural(cpus.size(), "core");
  if (examined.workers() >= cpus.size() && cpus.size() > 1) {
    findings.warn(
        "", counts + ": workers that poll leave nothing to the applications",
        "editor " + examined.file.path + "   # workers: auto; then systemctl restart hatrpcd");
  } else {
    findings.ok(
        "", counts +
                (host.isolated_cpus.empty() ? "" : "; isolated: " + list_text(host.isolated_cpus)));
  }
  judge_pressure("processor time", host.cpu_pressure, kCpuPressureMax,
                 "latencies are those of a busy host", "top   # who; then fewer, or more cores",
                 findings);
  judge_pressure("memory", host.memory_pressure, kMemoryPressureMax, "pages come and go",
                 "grep -E 'MemAvailable|Swap' /proc/meminfo   # then who takes it", findings);
}

void check_clock(const Examined& examined, Findings& findings) {
  const std::string& source = examined.host.clock_source;
  if (source.empty()) return findings.ok("", "its source is not told here");
  if (std::ranges::find(kQuickClocks, source) != kQuickClocks.end()) return findings.ok("", source);
  findings.warn("", source + ": each look at the time asks the kernel, and hatrpcd looks each turn",
                "echo tsc >/sys/devices/system/clocksource/clocksource0/current_clocksource   # if "
                "available_clocksource beside it has tsc");
}

}  // namespace hat::doctor
