// SPDX-License-Identifier: Apache-2.0
// hatctl/doctor/read_process.cc: reads a process's user, rights, limits and cgroup.
#include <algorithm>

#include "hatctl/doctor/read_host.h"

namespace hat::doctor {
namespace {

// Returns the value of the field `name` of /proc/PID/status, whose lines are "Name:\tvalue".
std::string field(const std::vector<std::string>& status, std::string_view name) {
  for (const std::string& line : status) {
    if (!line.starts_with(name) || line.size() <= name.size() || line[name.size()] != ':') continue;
    const size_t begin = line.find_first_not_of(" \t", name.size() + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

// Returns the effective id: the second of the four ids (real, effective, saved, filesystem) that a
// line of /proc/PID/status has.
uint64_t effective(const std::string& ids) {
  const auto all = words(ids);
  return all.size() < 2 ? 0 : parse_number<uint64_t>(std::string_view(all[1])).value_or(0);
}

// Returns the soft and hard limit of a line such as
// "Max locked memory         8388608              unlimited            bytes".
Limit read_limit(const std::vector<std::string>& limits, std::string_view name) {
  for (const std::string& line : limits) {
    if (!line.starts_with(name)) continue;
    const auto values = words(std::string_view(line).substr(name.size()));
    const auto bound = [&](size_t i) {
      return i < values.size()
                 ? parse_number<uint64_t>(std::string_view(values[i])).value_or(kUnlimited)
                 : kUnlimited;
    };
    return {bound(0), bound(1)};
  }
  return {};
}

// Reads /proc/PID/cgroup. A line such as "0::/system.slice/hatrpcd.service" is for cgroup v2, and
// one such as "4:memory:/…" is for cgroup v1.
void place_in_cgroup(const std::string& text, Cgroup& cgroup) {
  for (const std::string& line : lines(text)) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    if (controllers == ",,") cgroup.path = line.substr(second + 1);
    cgroup.memory_by_v1 |= controllers.find(",memory,") != std::string::npos;
  }
}

void lower_memory_max(const Files& files, const std::string& at, Cgroup& cgroup) {
  const auto bound = files.number<uint64_t>(at + "/memory.max");  // no value if the text is "max"
  if (!bound || *bound >= cgroup.memory_max.value_or(kUnlimited)) return;
  cgroup.memory_max = bound;
  cgroup.memory_max_at = at;
}

// Reads cpu.max, such as "50000 100000": the quota and the period, both in microseconds.
void lower_cores_max(const Files& files, const std::string& at, Cgroup& cgroup) {
  const auto parts = words(files.text_or(at + "/cpu.max", ""));
  if (parts.size() != 2) return;
  const auto quota = parse_number<double>(std::string_view(parts[0]));
  const auto period = parse_number<double>(std::string_view(parts[1]));
  if (!quota || !period || *period <= 0) return;
  cgroup.cores_max = std::min(cgroup.cores_max.value_or(1e9), *quota / *period);
}

// Reads rdma.max, whose lines are such as "mlx5_0 hca_handle=2 hca_object=2000".
void read_rdma_max(const Files& files, const std::string& at, Cgroup& cgroup) {
  for (const std::string& line : lines(files.text_or(at + "/rdma.max", ""))) {
    const auto parts = words(line);
    for (size_t i = 1; i < parts.size(); ++i) {
      const size_t equals = parts[i].find('=');
      if (equals == std::string::npos) continue;
      const auto bound = parse_number<uint64_t>(std::string_view(parts[i]).substr(equals + 1));
      if (!bound) continue;  // the value is "max": no bound
      auto& bounds = cgroup.rdma_max[parts[0]];
      const auto least = bounds.emplace(parts[i].substr(0, equals), *bound).first;
      least->second = std::min(least->second, *bound);
    }
  }
}

Cgroup read_cgroup(const Files& files, const std::string& text) {
  Cgroup cgroup;
  place_in_cgroup(text, cgroup);
  if (cgroup.path.empty()) return cgroup;
  const bool hybrid = files.exists("/sys/fs/cgroup/unified/cgroup.controllers");
  const std::string mount = hybrid ? "/sys/fs/cgroup/unified" : "/sys/fs/cgroup";
  std::string below = cgroup.path == "/" ? "" : cgroup.path;
  for (const std::string& line : lines(files.text_or(mount + below + "/cpu.stat", ""))) {
    const auto parts = words(line);
    if (parts.size() != 2 || parts[0] != "nr_throttled") continue;
    cgroup.throttled = parse_number<uint64_t>(std::string_view(parts[1])).value_or(0);
  }
  while (true) {
    lower_memory_max(files, mount + below, cgroup);
    lower_cores_max(files, mount + below, cgroup);
    read_rdma_max(files, mount + below, cgroup);
    if (below.empty()) return cgroup;
    below.erase(below.rfind('/'));
  }
}

}  // namespace

std::optional<Process> read_process(const Files& files, const std::string& pid) {
  const std::string at = "/proc/" + pid;
  const auto status = files.text(at + "/status");
  if (!status) return std::nullopt;
  const auto fields = lines(*status);
  Process process;
  process.pid = parse_number<int>(std::string_view(field(fields, "Pid"))).value_or(0);
  process.command = field(fields, "Name");
  process.uid = static_cast<uid_t>(effective(field(fields, "Uid")));
  process.gid = static_cast<gid_t>(effective(field(fields, "Gid")));
  for (const std::string& group : words(field(fields, "Groups"))) {
    if (const auto id = parse_number<gid_t>(std::string_view(group))) process.groups.insert(*id);
  }
  process.user = account_name(files, "/etc/passwd", process.uid);
  process.capabilities =
      parse_number<uint64_t>(std::string_view(field(fields, "CapEff")), 16).value_or(0);
  process.cpus = parse_cores(field(fields, "Cpus_allowed_list")).value_or(Cores{});
  const auto limits = lines(files.text_or(at + "/limits", ""));
  process.memlock = read_limit(limits, "Max locked memory");
  process.descriptors = read_limit(limits, "Max open files");
  process.cgroup = read_cgroup(files, files.text_or(at + "/cgroup", ""));
  return process;
}

}  // namespace hat::doctor
