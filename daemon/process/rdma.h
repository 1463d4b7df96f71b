// SPDX-License-Identifier: Apache-2.0
// daemon/process/rdma.h: opens the fabric that a node's configuration asks for, for one worker.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/reactor.h"
#include "config/node.h"
#include "engine/rdma/rdma_host.h"

namespace hat {

struct OpenedRdma {
  std::unique_ptr<engine::RdmaHost> host;  // null if the worker has only TCP lanes
  std::string what;                        // describes the fabric, or says why there is none
  std::string label;  // names the fabric in few letters: "verbs:DEVICE" or "loop"; empty: no fabric
};

// Opens the fabric that the configuration names; fails if it cannot be opened. `fabric: auto` tries
// an RDMA device, then memory shared with peers on this host; if neither can be opened, `host` is
// null and `what` says why. The registered memory comes from `memory_node`, if it is set.
Result<OpenedRdma> open_rdma(Reactor& reactor, const FabricConfig& fabric,
                             std::optional<int> memory_node);

// Opens a fabric for a calibration. `name` is the Fabric::name() of the workers' fabrics, which the
// new fabric also has. Never injects faults.
Result<std::unique_ptr<engine::Fabric>> open_fabric(const FabricConfig& fabric,
                                                    std::string_view name);

}  // namespace hat
