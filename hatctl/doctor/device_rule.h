// SPDX-License-Identifier: Apache-2.0
// hatctl/doctor/device_rule.h: finds the device, port and GID that hatrpcd would use, and the
// obstacle that keeps it from each device that it cannot use.
//
// The rule is that of engine/fabric/verbs/device.cc: try the devices in turn; of a device, use the
// first active port; on Ethernet, use the GID with the highest gid_rank(). If Examined::reports has
// a report of the daemon's own code on a device, the report takes precedence, because only that
// code can prove a GID usable by making an address handle of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hatctl/doctor/examined.h"

namespace hat::doctor {

// The first reason why a device cannot be used.
enum class Obstacle : uint8_t {
  kNone,
  kNode,   // its node in /dev cannot be opened
  kPort,   // none of the ports that the configuration permits is active
  kGid,    // the port has no usable GID
  kProof,  // the daemon's own code failed to use it, although the files show no obstacle
};

struct Judged {
  const RdmaDevice* device = nullptr;
  bool meant = true;  // the configuration names this device, or names none
  Obstacle obstacle = Obstacle::kNone;
  std::string why_not;         // why it cannot be used; empty: it can
  std::string mend;            // commands that remove the obstacle; empty: it can be used
  const Port* port = nullptr;  // null: none is active, or its node in /dev cannot be opened
  const Gid* gid = nullptr;    // null: none can be used, or none is needed (InfiniBand)
  uint32_t packet_bytes = 0;   // most payload of a packet, from the report; 0: unknown

  bool usable() const { return obstacle == Obstacle::kNone; }
};

// Returns each device, in the order in which hatrpcd tries them.
std::vector<Judged> judge_devices(const Examined& examined);
// Returns the first device that is usable and meant, or null if there is none.
const Judged* chosen(const std::vector<Judged>& judged);

// Returns the port's GID with index `wanted`, or the one with the highest gid_rank() if `wanted` is
// negative. Returns null if none can be used. It works without Examined::reports, the results of
// opening the devices.
const Gid* best_gid(const Port& port, int wanted);

// Returns true if `who` may read and write the device node.
bool may_open(const DeviceNode& node, const Process& who);

// Returns the name of the port: "mlx5_0 port 1".
std::string port_name(const RdmaDevice& device, const Port& port);

}  // namespace hat::doctor
