// SPDX-License-Identifier: Apache-2.0
// hatctl/doctor/check_limits.cc: checks the limits that the host sets for hatrpcd: pinned memory,
// other memory, cgroups, capabilities and file descriptors.
#include <algorithm>
#include <bit>

#include "base/quantities.h"
#include "hatctl/doctor/checks.h"
#include "hatctl/doctor/device_rule.h"

namespace hat::doctor {
namespace {

// An upper bound, in bytes, on the memory that a daemon uses in addition to the memory for RDMA.
constexpr uint64_t kBesidesRdma = 64ull << 20;
// The RDMA objects that a worker needs for about five links with lanes: two completion queues, and
// for each link a protection domain, five or more memory regions, two shared receive queues, and a
// queue pair for each lane. Further links use TCP if there are no more objects.
constexpr uint64_t kObjectsOfAWorker = 64;
// The memory that a link with lanes of about three plans pins (docs/operations.md, "Memory").
constexpr uint64_t kUsualBytesOfALink = 8ull << 20;

std::string amount(uint64_t bytes) { return bytes == kUnlimited ? "unlimited" : size_text(bytes); }

// Returns the systemd service of the cgroup: "hatrpcd.service" for the path ".../hatrpcd.service".
// Returns "" if the cgroup is not that of a service.
std::string unit_of(const Cgroup& cgroup) {
  const std::string name = cgroup.path.substr(cgroup.path.rfind('/') + 1);
  return name.ends_with(".service") ? name : "";
}

// Returns the command that applies `setting`, a systemd property, to the daemon's unit or
// container. `docker` is the same setting as an option of docker.
std::string set_limit(const Examined& examined, const std::string& setting,
                      const std::string& docker) {
  const std::string unit =
      examined.host.daemon ? unit_of(examined.host.daemon->cgroup) : "hatrpcd.service";
  if (examined.host.container) {
    return "docker run " + docker + " …   # Kubernetes: docs/rdma-hosts.md, \"Containers\"";
  }
  if (unit.empty()) {
    return "systemd-run -p " + setting + " hatrpcd --config " + examined.file.path +
           "   # or use the unit in deploy/systemd";
  }
  const std::string folder = "/etc/systemd/system/" + unit + ".d";
  return "mkdir -p " + folder + " && printf '[Service]\\n" + setting + "\\n' >" + folder +
         "/limits.conf && systemctl daemon-reload && systemctl restart " + unit;
}

// Returns true if hatrpcd uses an RDMA device and therefore pins memory: memory that is registered
// with a device is pinned.
bool pins(const Examined& examined) {
  return examined.wants_device() && chosen(judge_devices(examined)) != nullptr;
}

std::string sum_of(const Examined& examined) {
  return amount(examined.rdma_bytes()) + " (" +
         amount(registered_bytes(examined.file.node.fabric)) + " for one link of each of " +
         plural(examined.workers(), "worker") + ")";
}

// Returns the number of peers. A group counts as many as the addresses that were found.
size_t peers(const Examined& examined) {
  return std::max(examined.file.node.peers.size(), examined.peers.size());
}

// Returns how many bytes hatrpcd pins if each worker has opened a link with lanes to each peer. The
// links that peers open need further memory; their number depends on the workers of the peers.
uint64_t bytes_for_all_peers(const Examined& examined) {
  const uint64_t each = std::min(kUsualBytesOfALink, registered_bytes(examined.file.node.fabric));
  return peers(examined) * examined.workers() * each;
}

void judge_memlock(const Examined& examined, const Process& process, const std::string& subject,
                   bool counts, Findings& findings) {
  const std::string mend =
      counts ? set_limit(examined, "LimitMEMLOCK=infinity", "--ulimit memlock=-1")
             : "ulimit -l unlimited   # as root; deploy/systemd's unit has its own limit";
  const uint64_t limit = process.may(kCapIpcLock) ? kUnlimited : process.memlock.soft;
  const std::string has =
      process.may(kCapIpcLock) ? "CAP_IPC_LOCK: may lock all memory" : "may lock " + amount(limit);
  if (!pins(examined)) {
    findings.ok(subject, has + "; without a device, no memory is pinned");
  } else if (limit < examined.rdma_bytes() && counts) {
    findings.fail(subject,
                  has + ", but RDMA pins " + sum_of(examined) + ": RDMA lanes cannot be created",
                  mend);
  } else if (limit < examined.rdma_bytes()) {
    findings.warn(subject,
                  has + ": a hatrpcd that is started from here cannot pin " + sum_of(examined),
                  mend);
  } else if (limit < bytes_for_all_peers(examined)) {
    findings.warn(subject,
                  has + ", but RDMA pins about " + amount(bytes_for_all_peers(examined)) +
                      " if each of " + plural(examined.workers(), "worker") +
                      " opens a link with lanes to each of " + plural(peers(examined), "peer") +
                      ": links beyond the limit use TCP",
                  mend);
  } else {
    findings.ok(subject, has + "; RDMA pins " + sum_of(examined));
  }
}

void judge_memory_max(const Examined& examined, const Cgroup& cgroup, Findings& findings) {
  const uint64_t needed = kBesidesRdma + (pins(examined) ? examined.rdma_bytes() : 0);
  const uint64_t held = examined.workers() * examined.file.node.limits.buffered_bytes_max;
  const std::string subject = "memory.max";
  if (!cgroup.memory_max) {
    findings.ok(subject, cgroup.memory_by_v1 ? "set by cgroup v1, which hatctl does not read"
                                             : "no limit on memory");
    return;
  }
  const std::string text = amount(*cgroup.memory_max) + " at " + cgroup.memory_max_at +
                           "; hatrpcd needs " + amount(needed) + ", and up to " + amount(held) +
                           " for slow readers";
  const std::string mend =
      set_limit(examined, "MemoryMax=" + std::to_string((needed + held) >> 20) + "M",
                "--memory=" + std::to_string((needed + held) >> 20) + "m");
  if (*cgroup.memory_max < needed) {
    findings.fail(subject, text + ": the kernel will kill hatrpcd", mend);
  } else if (*cgroup.memory_max < needed + held) {
    findings.warn(subject, text + ": if readers are slow, the kernel may kill hatrpcd", mend);
  } else {
    findings.ok(subject, text);
  }
}

void judge_cores_max(const Examined& examined, const Cgroup& cgroup, Findings& findings) {
  const std::string subject = "cpu.max";
  const double workers = static_cast<double>(examined.workers());
  if (!cgroup.cores_max) return findings.ok(subject, "no limit on processor time");
  const std::string text = count_text(*cgroup.cores_max) + " s of processor time per second, for " +
                           plural(examined.workers(), "worker");
  if (cgroup.throttled == 0 && *cgroup.cores_max >= workers + 1) return findings.ok(subject, text);
  const std::string so_far =
      cgroup.throttled == 0 ? "" : ", reached " + std::to_string(cgroup.throttled) + " times";
  findings.warn(
      subject,
      text + so_far +
          ": a worker that polls uses up this time, and then stops for the rest of each period",
      set_limit(examined, "CPUQuota=", "--cpus=0") + "   # or `polling: event`");
}

void judge_rdma_max(const Examined& examined, const Cgroup& cgroup, Findings& findings) {
  const std::string subject = "rdma.max";
  const auto all = judge_devices(examined);
  const Judged* choice = chosen(all);
  const auto bounds =
      choice == nullptr ? cgroup.rdma_max.end() : cgroup.rdma_max.find(choice->device->name);
  if (bounds == cgroup.rdma_max.end()) return findings.ok(subject, "no limit on RDMA objects");
  // Each worker opens the device once (one handle), and a calibration opens it once more.
  const std::map<std::string, uint64_t> needed = {
      {"hca_handle", examined.workers() + 1},
      {"hca_object", examined.workers() * kObjectsOfAWorker}};
  std::string text = choice->device->name;
  bool enough = true;
  for (const auto& [what, count] : needed) {
    const auto bound = bounds->second.find(what);
    if (bound == bounds->second.end()) continue;
    text += " " + what + "=" + std::to_string(bound->second) + " (" + std::to_string(count) +
            " are needed)";
    enough &= bound->second >= count;
  }
  if (enough) return findings.ok(subject, text);
  findings.fail(subject, text + ": RDMA lanes cannot be created",
                "echo '" + choice->device->name +
                    " hca_handle=max hca_object=max' >/sys/fs/cgroup" + cgroup.path + "/rdma.max");
}

}  // namespace

void check_memlock(const Examined& examined, Findings& findings) {
  const Host& host = examined.host;
  judge_memlock(examined, host.self, "hatctl", false, findings);
  if (host.daemon) {
    judge_memlock(examined, *host.daemon, "hatrpcd, pid " + std::to_string(host.daemon->pid), true,
                  findings);
  }
}

void check_memory(const Examined& examined, Findings& findings) {
  const Host& host = examined.host;
  const uint64_t needed = pins(examined) ? examined.rdma_bytes() : 0;
  const std::string free = amount(host.memory_available) + " of memory is free";
  // A running daemon has already allocated its memory and does not need the free memory.
  if (host.daemon || host.memory_available >= needed + kBesidesRdma) {
    findings.ok("", free);
  } else {
    findings.fail(
        "", free + ", but RDMA needs " + sum_of(examined) + ": hatrpcd would run without RDMA",
        "editor " + examined.file.path +
            "   # for example fabric: {max_pinned: 36MiB}; or free some memory");
  }
  findings.ok("huge pages", std::to_string(host.huge_pages_free) + " of " +
                                std::to_string(host.huge_pages_total) + " of " +
                                amount(host.huge_page_bytes) + " are free; hatrpcd uses none");
  findings.ok("/dev/shm", host.shm_bytes == 0
                              ? "absent; hatrpcd uses memfds, which do not need it"
                              : amount(host.shm_free) + " of " + amount(host.shm_bytes) +
                                    " are free; hatrpcd uses memfds, which do not need it");
}

void check_cgroup(const Examined& examined, Findings& findings) {
  const Cgroup& cgroup = examined.process().cgroup;
  if (!examined.host.daemon && !examined.host.container) {
    return findings.ok("", "not checked, because no hatrpcd process is visible; hatctl is in " +
                               (cgroup.path.empty() ? "no cgroup of version 2" : cgroup.path));
  }
  judge_memory_max(examined, cgroup, findings);
  judge_cores_max(examined, cgroup, findings);
  judge_rdma_max(examined, cgroup, findings);
}

void check_capabilities(const Examined& examined, Findings& findings) {
  const Process& process = examined.process();
  const std::string subject =
      examined.host.daemon ? "hatrpcd, as " + process.user : "hatctl, as " + process.user;
  const auto count = std::popcount(process.capabilities);
  const auto nice = examined.file.node.worker_nice;
  if (nice && *nice < 0 && !process.may(kCapSysNice)) {
    findings.warn(subject,
                  "worker_nice: " + std::to_string(*nice) +
                      " needs CAP_SYS_NICE, which the process lacks: workers run with the "
                      "process's own niceness",
                  set_limit(examined, "AmbientCapabilities=CAP_SYS_NICE", "--cap-add=SYS_NICE"));
    return;
  }
  findings.ok(subject, count == 0 ? "none; hatrpcd needs none"
                                  : "has " + std::to_string(count) + "; hatrpcd needs none");
}

void check_descriptors(const Examined& examined, Findings& findings) {
  const Process& process = examined.process();
  const NodeConfig& node = examined.file.node;
  // Only the hard limit counts, because hatrpcd raises its soft limit to the hard limit.
  const uint64_t places = node.endpoints.size() + node.serves.size();
  const uint64_t needed = 256 + places * node.limits.connections_max * examined.workers();
  const uint64_t limit = process.descriptors.hard;
  const std::string text = (limit == kUnlimited ? "no limit" : std::to_string(limit) + " at most") +
                           "; " + std::to_string(needed) +
                           " are needed if every endpoint and every served service has "
                           "limits.max_connections on each worker";
  if (limit >= needed || !examined.host.daemon) return findings.ok("", text);
  const std::string enough = std::to_string(std::max<uint64_t>(needed, 1u << 20));
  findings.warn("", text + ": at this limit hatrpcd accepts no more connections, and new ones wait",
                set_limit(examined, "LimitNOFILE=" + enough, "--ulimit nofile=" + enough));
}

}  // namespace hat::doctor
