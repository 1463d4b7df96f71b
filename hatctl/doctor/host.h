// SPDX-License-Identifier: Apache-2.0
// hatctl/doctor/host.h: what doctor knows of this host, as plain data: read once
// (read_host.h), then judged (checks.h).
//
// What a file does not say is empty, or nothing; bytes are bytes.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/fabric/verbs/gid.h"

namespace hat::doctor {

inline constexpr uint64_t kUnlimited = UINT64_MAX;

// --- RDMA devices and network interfaces ---

// An entry of a port's GID table that is set.
struct Gid {
  int index = 0;
  engine::GidBytes bytes{};
  bool roce_v2 = false;
  std::string interface;  // empty: it lies in another network namespace
};

struct Port {
  int number = 0;
  std::string state;       // "ACTIVE", "INIT", "DOWN"
  std::string link_layer;  // "InfiniBand", "Ethernet"
  std::string rate;        // "100 Gb/sec (4X EDR)"
  std::vector<Gid> gids;
  std::map<std::string, uint64_t> counters;  // the kernel's and the driver's, by file name

  bool active() const { return state == "ACTIVE"; }
  bool by_gid() const { return link_layer == "Ethernet"; }
};

// /dev/infiniband/uverbsN: who may open it.
struct DeviceNode {
  std::string path;
  bool present = false;  // in /dev; containers often lack it
  mode_t mode = 0;
  uid_t uid = 0;
  gid_t gid = 0;
  std::string group;
};

struct RdmaDevice {
  std::string name;
  std::string node_type;           // "CA", "RNIC" (iWARP), "unspecified"
  std::string interface;           // of its first port; empty: none (InfiniBand), or not seen
  int numa_node = -1;              // -1: the host has one, or the device is none of a bus
  std::optional<DeviceNode> node;  // none: ib_uverbs is not loaded
  std::vector<Port> ports;
  std::string traffic_class;  // what the vendor's driver is told to set; empty: not told
};

struct Interface {
  std::string name;
  uint64_t mtu = 0;
  bool up = false;          // told to be
  bool carrier = false;     // and its link is
  std::string driver;       // empty: virtual
  std::string ecn_at;       // the vendor's ecn/ folder; empty: its driver has none
  bool ecn_enabled = true;  // for some priority, both ways; meaningless without ecn_at
};

// --- Processes ---

struct Limit {
  uint64_t soft = kUnlimited;
  uint64_t hard = kUnlimited;
};

struct Cgroup {
  std::string path;                    // as in /sys/fs/cgroup; empty: no cgroup v2 was found
  bool memory_by_v1 = false;           // then its bounds lie elsewhere, and are not read
  std::optional<uint64_t> memory_max;  // the lowest of its own and of those above it
  std::string memory_max_at;           // whose that is
  std::optional<double> cores_max;     // cpu.max, likewise
  uint64_t throttled = 0;              // cpu.stat: periods in which that bound was reached
  std::map<std::string, std::map<std::string, uint64_t>> rdma_max;  // device, hca_…: bound
};

struct Process {
  int pid = 0;
  std::string command;
  std::string user;  // name, or number
  uid_t uid = 0;     // effective, as gid
  gid_t gid = 0;
  std::set<gid_t> groups;
  uint64_t capabilities = 0;  // effective
  Limit memlock;
  Limit descriptors;
  std::vector<int> cpus;  // that it may run on
  Cgroup cgroup;

  bool may(unsigned capability) const { return (capabilities >> capability & 1) != 0; }
};
// capabilities(7)
inline constexpr unsigned kCapDacOverride = 1;
inline constexpr unsigned kCapIpcLock = 14;
inline constexpr unsigned kCapSysNice = 23;

// --- All of it ---

struct Host {
  std::vector<RdmaDevice> devices;        // by name
  bool uverbs_class = false;              // ib_uverbs is there
  bool devices_in_one_namespace = false;  // `rdma system`: netns exclusive
  std::vector<Interface> interfaces;      // but loopback
  std::set<std::string> modules;          // of /sys/module

  Process self;
  std::optional<Process> daemon;        // none: it does not run, or not where it can be seen
  std::optional<Process> service_user;  // "hatrpcd" of /etc/passwd: user and groups alone
  bool container = false;

  uint64_t memory_available = 0;
  uint64_t huge_pages_total = 0;
  uint64_t huge_pages_free = 0;
  uint64_t huge_page_bytes = 0;
  std::map<int, std::vector<int>> numa_cpus;  // by node
  std::vector<int> isolated_cpus;
  std::optional<double> cpu_pressure;  // percent of the last minute in which somebody waited
  std::optional<double> memory_pressure;
  std::string clock_source;
  uint64_t shm_bytes = 0;  // /dev/shm: 0 where there is none
  uint64_t shm_free = 0;
};

}  // namespace hat::doctor
