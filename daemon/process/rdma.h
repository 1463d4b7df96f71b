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
  std::unique_ptr<engine::RdmaHost> host;  // null: TCP lanes alone
  std::string what;                        // which fabric, or why none
};

// `fabric: auto` falls back from a device to memory shared with peers on this host, then to none,
// and says why. Errors: what the configuration names cannot be had.
Result<OpenedRdma> open_rdma(Reactor& reactor, const FabricConfig& fabric);

// Another one of the kind that a worker has, by its name(), without faults made on purpose.
Result<std::unique_ptr<engine::Fabric>> open_fabric(const FabricConfig& fabric,
                                                    std::string_view name);

}  // namespace hat
