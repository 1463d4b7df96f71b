// SPDX-License-Identifier: Apache-2.0
// hatctl/doctor/host.h: the facts about this host that `hatctl doctor` uses, as plain data. The
// functions in read_host.h read these facts once; the checks in checks.h judge them.
//
// A fact that could not be read has its default value (empty, nullopt or 0), unless its comment
// says otherwise. Sizes are in bytes.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/cores.h"
#include "engine/fabric/verbs/gid.h"

namespace hat::doctor {

inline constexpr uint64_t kUnlimited = UINT64_MAX;

// --- RDMA devices and network interfaces ---

// One entry of a port's GID table. Entries that are all zero are left out.
struct Gid {
  int index = 0;
  engine::GidBytes bytes{};
  bool roce_v2 = false;
  std::string interface;  // empty: the interface is in another network namespace
};

struct Port {
  int number = 0;
  std::string state;       // "ACTIVE", "INIT", "DOWN"; "unknown": could not be read
  std::string link_layer;  // "InfiniBand", "Ethernet"; "unknown": could not be read
  std::string rate;        // "100 Gb/sec (4X EDR)"
  std::vector<Gid> gids;
  std::map<std::string, uint64_t> counters;  // the kernel's and the driver's, by file name in /sys

  bool active() const { return state == "ACTIVE"; }
  bool by_gid() const { return link_layer == "Ethernet"; }
};

// The device node /dev/infiniband/uverbsN, and which users may open it.
struct DeviceNode {
  std::string path;
  bool present = false;  // in /dev; it often does not exist in containers
  mode_t mode = 0;
  uid_t uid = 0;
  gid_t gid = 0;
  std::string group;
};

struct RdmaDevice {
  std::string name;
  std::string node_type;           // "CA", "RNIC" (iWARP), "unspecified"
  std::string interface;           // the network interface; empty: none (InfiniBand), or not found
  int numa_node = -1;              // -1: the host has only one node, or the device is on no bus
  std::optional<DeviceNode> node;  // absent: the kernel module ib_uverbs is not loaded
  std::vector<Port> ports;
  std::string traffic_class;  // as configured in the vendor's driver; empty: not configured
};

struct Interface {
  std::string name;
  uint64_t mtu = 0;
  bool up = false;          // set up by the administrator (IFF_UP)
  bool carrier = false;     // the physical link of the interface is up
  std::string driver;       // empty: the interface is virtual
  std::string ecn_at;       // the folder with the driver's ECN settings; empty: there is none
  bool ecn_enabled = true;  // for at least one priority in each direction; true if ecn_at is empty
};

// --- Processes ---

struct Limit {
  uint64_t soft = kUnlimited;
  uint64_t hard = kUnlimited;
};

struct Cgroup {
  std::string path;                    // below /sys/fs/cgroup; empty: no cgroup v2 was found
  bool memory_by_v1 = false;           // cgroup v1 limits the memory; its limits are not read
  std::optional<uint64_t> memory_max;  // the lowest memory.max of the cgroup and its ancestors
  std::string memory_max_at;           // the folder of the cgroup that sets memory_max
  std::optional<double> cores_max;  // the lowest cpu.max of the cgroup and its ancestors, in cores
  uint64_t throttled = 0;           // the number of periods in which the cgroup reached cpu.max
  // The lowest rdma.max of the cgroup and its ancestors: for each device, the limits "hca_handle"
  // and "hca_object".
  std::map<std::string, std::map<std::string, uint64_t>> rdma_max;
};

struct Process {
  int pid = 0;
  std::string command;
  std::string user;  // the user's name, or the user's number if there is no name
  uid_t uid = 0;     // the effective user id; `gid` is the effective group id
  gid_t gid = 0;
  std::set<gid_t> groups;
  uint64_t capabilities = 0;  // the effective capabilities, one bit each
  Limit memlock;
  Limit descriptors;
  Cores cpus;  // the processors on which the process may run
  Cgroup cgroup;

  bool may(unsigned capability) const { return (capabilities >> capability & 1) != 0; }
};
// Numbers of capabilities; see capabilities(7).
inline constexpr unsigned kCapDacOverride = 1;
inline constexpr unsigned kCapIpcLock = 14;
inline constexpr unsigned kCapSysNice = 23;

// --- The whole host ---

struct Host {
  std::vector<RdmaDevice> devices;        // by name
  bool uverbs_class = false;              // the kernel module ib_uverbs is loaded
  bool devices_in_one_namespace = false;  // each RDMA device belongs to one network namespace
  std::vector<Interface> interfaces;      // except loopback
  std::set<std::string> modules;          // the names in /sys/module

  Process self;                         // hatctl
  std::optional<Process> daemon;        // absent: hatrpcd does not run, or is in a PID namespace
                                        // that hatctl cannot see
  std::optional<Process> service_user;  // the user "hatrpcd" of /etc/passwd: user and groups only
  bool container = false;

  uint64_t memory_available = 0;
  uint64_t huge_pages_total = 0;
  uint64_t huge_pages_free = 0;
  uint64_t huge_page_bytes = 0;
  NumaNodes numa_cpus;  // the processors of each NUMA node that has any
  Cores online_cpus;    // the processors that the kernel can use
  Cores isolated_cpus;
  // Percent of the last minute in which some task waited for a processor, or for memory.
  std::optional<double> cpu_pressure;
  std::optional<double> memory_pressure;
  std::string clock_source;
  uint64_t shm_bytes = 0;  // size of /dev/shm; 0: it does not exist
  uint64_t shm_free = 0;
};

}  // namespace hat::doctor
