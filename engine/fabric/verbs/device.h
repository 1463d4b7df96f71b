// SPDX-License-Identifier: Apache-2.0
// engine/fabric/verbs/device.h: an opened RDMA device, the port to use, and the port's address.
#pragma once

#include <infiniband/verbs.h>

#include <string>

#include "base/owned.h"
#include "base/result.h"
#include "engine/fabric/verbs/verbs_fabric.h"

namespace hat::engine::verbs {

struct Device {
  Owned<ibv_context, ibv_close_device> context;
  std::string name;
  uint8_t port = 0;
  ibv_port_attr port_attributes{};
  uint8_t atomics_out = 1;  // the most outstanding READs and atomics of one queue pair
  int gid_index = 0;
  ibv_gid gid{};
  std::string why;  // why this device, this port and this GID were chosen

  // Returns a text such as "rxe0, port 1, GID index 1: ", followed by the member `why`. Without an
  // Ethernet port, the text has no GID index.
  std::string describe() const;
  bool by_gid() const { return port_attributes.link_layer == IBV_LINK_LAYER_ETHERNET; }
};

// Returns the IBV_ACCESS_* bits for `access`, and always IBV_ACCESS_LOCAL_WRITE.
unsigned access_flags(RemoteAccess access);

Result<Device> open_device(const VerbsOptions& options);

}  // namespace hat::engine::verbs
