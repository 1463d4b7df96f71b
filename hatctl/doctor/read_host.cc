// SPDX-License-Identifier: Apache-2.0
#include "hatctl/doctor/read_host.h"

#include <sys/statvfs.h>

#include <algorithm>

namespace hat::doctor {
namespace {

constexpr const char* kServiceUser = "hatrpcd";  // from deploy/systemd/hatrpcd.sysusers

// Returns the value of a line such as "MemAvailable:   123 kB" or "HugePages_Free:   0", in bytes
// if the line has a unit. Returns 0 if the line does not exist.
uint64_t meminfo(const std::vector<std::string>& info, const std::string& name) {
  for (const std::string& line : info) {
    const auto parts = words(line);
    if (parts.size() < 2 || parts[0] != name + ":") continue;
    const uint64_t number = parse_number<uint64_t>(std::string_view(parts[1])).value_or(0);
    return parts.size() == 3 ? number << 10 : number;
  }
  return 0;
}

// Returns the value of avg60 (percent of the last 60 s) in the first line of /proc/pressure/`what`,
// for example 1.5 for "some avg10=0.00 avg60=1.50 avg300=0.40 total=1234".
std::optional<double> pressure(const Files& files, const std::string& what) {
  for (const std::string& word : words(files.text_or("/proc/pressure/" + what, ""))) {
    if (word.starts_with("avg60=")) return parse_number<double>(std::string_view(word).substr(6));
  }
  return std::nullopt;
}

void read_memory(const Files& files, Host& host) {
  const auto info = lines(files.text_or("/proc/meminfo", ""));
  host.memory_available = meminfo(info, "MemAvailable");
  host.huge_pages_total = meminfo(info, "HugePages_Total");
  host.huge_pages_free = meminfo(info, "HugePages_Free");
  host.huge_page_bytes = meminfo(info, "Hugepagesize");
  struct statvfs shm {};
  if (!files.exists("/dev/shm") || statvfs(files.path("/dev/shm").c_str(), &shm) != 0) return;
  host.shm_bytes = uint64_t{shm.f_blocks} * shm.f_frsize;
  host.shm_free = uint64_t{shm.f_bavail} * shm.f_frsize;
}

void read_processors(const Files& files, Host& host) {
  host.numa_cpus = read_numa_nodes(files.path(""));
  host.online_cpus = read_online_cores(files.path(""));
  host.isolated_cpus =
      parse_cores(files.text_or("/sys/devices/system/cpu/isolated", "")).value_or(Cores{});
  host.cpu_pressure = pressure(files, "cpu");
  host.memory_pressure = pressure(files, "memory");
  host.clock_source =
      files.text_or("/sys/devices/system/clocksource/clocksource0/current_clocksource", "");
}

bool in_container(const Files& files) {
  return std::ranges::any_of(std::initializer_list<const char*>{"/.dockerenv", "/run/.containerenv",
                                                                "/var/run/secrets/kubernetes.io"},
                             [&](const char* mark) { return files.exists(mark); });
}

}  // namespace

Host read_host(const std::string& root, std::optional<int> daemon_pid) {
  const Files files(root);
  Host host;
  host.devices = read_devices(files);
  host.uverbs_class = files.exists("/sys/class/infiniband_verbs");
  host.devices_in_one_namespace =
      files.text_or("/sys/module/ib_core/parameters/netns_mode", "Y") == "N";
  host.interfaces = read_interfaces(files);
  for (std::string& name : files.names("/sys/module")) host.modules.insert(std::move(name));
  host.self = read_process(files, "self").value_or(Process{});
  if (daemon_pid) host.daemon = read_process(files, std::to_string(*daemon_pid));
  if (host.daemon && host.daemon->command != "hatrpcd") host.daemon.reset();
  host.service_user = read_account(files, kServiceUser);
  host.container = in_container(files);
  read_memory(files, host);
  read_processors(files, host);
  return host;
}

}  // namespace hat::doctor
