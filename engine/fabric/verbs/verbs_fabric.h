// SPDX-License-Identifier: Apache-2.0
// engine/fabric/verbs/verbs_fabric.h: the fabric for RDMA devices, over libibverbs (rdma-core):
// InfiniBand and RoCE, including Soft-RoCE.
//
// A queue pair is addressed by LID on InfiniBand and by GID on RoCE. On a RoCE port, the fabric
// ranks the entries of the GID table: RoCE v2 over IPv4, then RoCE v2 over IPv6, then RoCE v1, and
// never link-local addresses. The fabric uses the first entry of which an address handle can be
// made. describe() names the chosen entry and the reason.
//
// Errors   Sentences that say what to do, such as which limit to raise or how to list the devices.
// Source   ibv_create_ah(3), ibv_modify_qp(3); the ranking and its proof are UCX's
//          (uct_ib_device_select_gid).
#pragma once

#include <string>
#include <vector>

#include "engine/fabric/fabric.h"

namespace hat::engine {

struct VerbsOptions {
  std::string device;  // empty: the first device with a usable port
  uint8_t port = 0;    // 0: the device's first active port
  int gid_index = -1;  // -1: the best usable entry of the GID table
};

class VerbsFabric : public Fabric {
 public:
  // Returns "rxe0, port 1, GID index 1: the first device with an active port; the best GID of which
  // an address handle can be made: RoCE v2, ::ffff:10.77.0.1".
  virtual std::string describe() const = 0;
  virtual std::string device() const = 0;  // the device's name, such as "rxe0"
};

Result<std::unique_ptr<VerbsFabric>> open_verbs_fabric(const VerbsOptions& options = {});

// A report on one RDMA device of this host, for diagnosis: the port and GID that the fabric would
// use and why, or why it can use none.
struct DeviceReport {
  std::string device;
  bool opens = true;  // false: this process may not open it
  bool usable = false;
  std::string detail;         // a sentence: the choice and the reason, or the error
  uint8_t port = 0;           // `port`, `gid_index` and `packet_bytes` are set only if `usable`
  int gid_index = -1;         // -1: the port is reached by LID
  uint32_t packet_bytes = 0;  // the maximum payload of a packet: the port's active MTU
};
// Returns a report on each device, in the order in which the fabric tries the devices. The fabric
// uses the first usable device that `options` permit. Closes all devices before it returns.
std::vector<DeviceReport> probe_devices(const VerbsOptions& options = {});

}  // namespace hat::engine
