// SPDX-License-Identifier: Apache-2.0
// engine/fabric/verbs/verbs_fabric.h: the fabric of RDMA devices, by libibverbs (rdma-core):
// InfiniBand and RoCE, Soft-RoCE included.
//
// A queue pair is addressed by LID on InfiniBand and by GID on RoCE. Which entry of a RoCE port's
// GID table is used is ranked (RoCE v2 over IPv4, then over IPv6, then v1; never link-local ones)
// and then proved: an address handle must be made of it. describe() says which, and why.
//
// Errors   sentences that say what to do: which limit to raise, which devices there are.
// Source   ibv_create_ah(3), ibv_modify_qp(3); the ranking and its proof are UCX's
//          (uct_ib_device_select_gid).
#pragma once

#include <string>
#include <vector>

#include "engine/fabric/fabric.h"

namespace hat::engine {

struct VerbsOptions {
  std::string device;  // empty: the first with a usable port
  uint8_t port = 0;    // 0: its first usable one
  int gid_index = -1;  // -1: ranked and proved
};

class VerbsFabric : public Fabric {
 public:
  // "rxe0, port 1, GID index 1 (RoCE v2, ::ffff:10.77.0.1): the first usable port; …"
  virtual std::string describe() const = 0;
};

Result<std::unique_ptr<VerbsFabric>> open_verbs_fabric(const VerbsOptions& options = {});

// What each RDMA device of this host is good for, for who looks for what is wrong: which port and
// GID would be used and why, or why none can. In the order in which they are tried: the first
// usable one that `options` mean is the fabric's. Nothing stays open.
struct DeviceReport {
  std::string device;
  bool usable = false;
  std::string detail;         // in words
  uint8_t port = 0;           // from here on: where it is usable
  int gid_index = -1;         // -1: it is reached by LID
  uint32_t packet_bytes = 0;  // what a packet carries: the port's active MTU
};
std::vector<DeviceReport> probe_devices(const VerbsOptions& options = {});

}  // namespace hat::engine
