// SPDX-License-Identifier: Apache-2.0
// daemon/process/rdma.h: the fabric that a node's configuration asks for, opened for one worker.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/reactor.h"
#include "config/node.h"
#include "engine/rdma/rdma_host.h"

namespace hat {

struct OpenedRdma {
  std::unique_ptr<engine::RdmaHost> host;  // null: only TCP lanes
  std::string what;                        // describes the fabric, or says why there is none
};

// Opens the fabric. `fabric: auto` tries a device, then memory shared with peers on this host, then
// uses none, and says why. Fails if the fabric that the configuration names cannot be opened.
Result<OpenedRdma> open_rdma(Reactor& reactor, const FabricConfig& fabric);

// Opens another fabric of the kind that a worker has (Fabric::name()), without deliberate faults.
Result<std::unique_ptr<engine::Fabric>> open_fabric(const FabricConfig& fabric,
                                                    std::string_view name);

}  // namespace hat
