// SPDX-License-Identifier: Apache-2.0
// hatctl/doctor/device_rule.h: finds out which RDMA device, port and GID (address of a port)
// hatrpcd would use on this host, and why hatrpcd cannot use each of the other devices.
//
// The rule is the same as in engine/fabric/verbs/device.cc: try the devices in order; use the first
// active port of a device; on Ethernet, use the GID with the highest gid_rank(). If
// Examined::reports has a report about a device, the report takes precedence. The report comes from
// the daemon's own code, which proves that a GID is usable by creating an address handle with it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hatctl/doctor/examined.h"

namespace hat::doctor {

// The first reason why a device cannot be used.
enum class Obstacle : uint8_t {
  kNone,
  kNode,   // the node of the device in /dev cannot be opened
  kPort,   // none of the ports that the configuration permits is active
  kGid,    // the port has no usable GID
  kProof,  // the daemon's own code failed to use the device, although files show no obstacle
};

// The most bytes that the headers of a RoCE packet have. Source: linux/include/rdma/ib_addr.h,
// iboe_get_mtu().
inline constexpr uint32_t kRoceHeaderBytes = 96;

// The result of the rule for one RDMA device.
struct Judged {
  const RdmaDevice* device = nullptr;
  bool meant = true;  // the configuration names this device, or names no device
  Obstacle obstacle = Obstacle::kNone;
  std::string why_not;  // why the device cannot be used; empty if the device can be used
  std::string mend;     // commands that remove the obstacle; empty if the device can be used
  // The port to use; null if no port is active, or if the device's node in /dev cannot be opened.
  const Port* port = nullptr;
  // The GID to use; null if no GID can be used, or if none is needed (InfiniBand).
  const Gid* gid = nullptr;
  uint32_t packet_bytes = 0;  // the maximum payload of a packet, from the report; 0: unknown

  bool usable() const { return obstacle == Obstacle::kNone; }
};

// Applies the rule to each device of the host. Returns the results in the order in which hatrpcd
// tries the devices.
std::vector<Judged> judge_devices(const Examined& examined);
// Returns the first result whose device is usable and meant, or null if there is no such device.
const Judged* chosen(const std::vector<Judged>& judged);

// Returns the GID of the port with the index `wanted` or, if `wanted` is negative, the GID with the
// highest gid_rank(). Returns null if no GID can be used.
const Gid* best_gid(const Port& port, int wanted);

// Returns true if `who` may read and write the device node.
bool may_open(const DeviceNode& node, const Process& who);

// Returns the name of the port: "mlx5_0 port 1".
std::string port_name(const RdmaDevice& device, const Port& port);

}  // namespace hat::doctor
