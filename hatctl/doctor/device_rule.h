// SPDX-License-Identifier: Apache-2.0
// hatctl/doctor/device_rule.h: which device, port and GID hatrpcd would take, and what keeps
// it from the others.
//
// The rule is that of engine/fabric/verbs/device.cc: devices in turn, a device's first active port,
// on Ethernet the GID of the highest gid_rank(). Where the daemon's own code could be asked
// (Examined::reports), what it found counts: only it can prove a GID by an address handle.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hatctl/doctor/examined.h"

namespace hat::doctor {

// What keeps a device from being used: the first thing that does.
enum class Obstacle : uint8_t {
  kNone,
  kNode,   // its node in /dev cannot be opened
  kPort,   // no port that is meant is active
  kGid,    // the port has no GID that can be used
  kProof,  // the daemon's own code could not use it, though the files say nothing against it
};

struct Judged {
  const RdmaDevice* device = nullptr;
  bool meant = true;  // the configuration names it, or none
  Obstacle obstacle = Obstacle::kNone;
  std::string why_not;         // it cannot be used; empty: it can
  std::string mend;            // then
  const Port* port = nullptr;  // null: none is active
  const Gid* gid = nullptr;    // null: none can be used, or none is needed (InfiniBand)
  uint32_t packet_bytes = 0;   // what a packet of the port carries, where the device was asked

  bool usable() const { return obstacle == Obstacle::kNone; }
};

// Each device, in the order in which they are tried.
std::vector<Judged> judge_devices(const Examined& examined);
// The first that is usable and meant; null: none.
const Judged* chosen(const std::vector<Judged>& judged);

// Of one port, without the devices' own words; null: none can be used.
const Gid* best_gid(const Port& port, int wanted);

bool may_open(const DeviceNode& node, const Process& who);

// "mlx5_0 port 1"
std::string port_name(const RdmaDevice& device, const Port& port);

}  // namespace hat::doctor
