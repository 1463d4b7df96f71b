// SPDX-License-Identifier: Apache-2.0
#include "daemon/process/rdma.h"

#include <glog/logging.h>

#include <algorithm>
#include <utility>

#include "engine/fabric/faulty/faulty_fabric.h"
#include "engine/fabric/loop/loop_fabric.h"
#include "engine/fabric/verbs/verbs_fabric.h"

namespace hat {
namespace {

// Divides the registered memory in three parts: one ninth for control messages, and four ninths for
// the messages of each direction.
engine::RdmaDomainOptions options_for(const FabricConfig& fabric, std::optional<int> memory_node) {
  const size_t control = registered_bytes(fabric) / 9;
  engine::RdmaDomainOptions options;
  options.arena.bytes = {4 * control, 4 * control, control};
  options.arena.step = 1 << 20;
  options.arena.numa_node = memory_node;
  // One block of receives more than the control part holds, so that small domains have small
  // queues, and memory is what a link first lacks.
  options.poller.receives_max = static_cast<uint32_t>(
      std::min<size_t>(options.poller.receives_max,
                       control / engine::kReceiveBytes + engine::Poller::kReceivesPerBlock));
  options.spin = {};  // no limit here: the plan of each call sets how long to spin
  return options;
}

// Adds the faults of the configuration to `fabric`.
std::unique_ptr<engine::Fabric> with_faults(std::unique_ptr<engine::Fabric> fabric,
                                            const FabricConfig& config) {
  if (!config.faults) return fabric;
  LOG(WARNING) << "fabric.faults: RDMA lanes fail on purpose";
  const FaultsConfig& faults = *config.faults;
  return engine::make_faulty(std::move(fabric), {.seed = faults.seed,
                                                 .delay_max = faults.delay_max,
                                                 .refused_percent = faults.refused_percent,
                                                 .cut_within = faults.cut_within,
                                                 .silent_within = faults.silent_within});
}

engine::VerbsOptions device_of(const FabricConfig& fabric) {
  return {.device = fabric.device, .port = fabric.port, .gid_index = fabric.gid_index};
}

Result<OpenedRdma> open_verbs(Reactor& reactor, const FabricConfig& fabric,
                              std::optional<int> memory_node) {
  HAT_TRY(std::unique_ptr<engine::VerbsFabric> device,
          engine::open_verbs_fabric(device_of(fabric)));
  OpenedRdma opened{nullptr, "verbs: " + device->describe(), "verbs:" + device->device()};
  HAT_TRY(opened.host, engine::RdmaHost::create(reactor, with_faults(std::move(device), fabric),
                                                options_for(fabric, memory_node)));
  return opened;
}

Result<std::unique_ptr<engine::Fabric>> open_loop_fabric(const FabricConfig& fabric) {
  return fabric.loop_folder.empty() ? engine::open_loop_fabric()
                                    : engine::open_loop_fabric_in(fabric.loop_folder);
}

Result<OpenedRdma> open_loop(Reactor& reactor, const FabricConfig& fabric,
                             std::optional<int> memory_node) {
  HAT_TRY(std::unique_ptr<engine::Fabric> loop, open_loop_fabric(fabric));
  OpenedRdma opened{nullptr, "loop: memory shared with peers on this host", "loop"};
  HAT_TRY(opened.host, engine::RdmaHost::create(reactor, with_faults(std::move(loop), fabric),
                                                options_for(fabric, memory_node)));
  return opened;
}

}  // namespace

Result<OpenedRdma> open_rdma(Reactor& reactor, const FabricConfig& fabric,
                             std::optional<int> memory_node) {
  if (fabric.kind == FabricKind::kTcp) return OpenedRdma{nullptr, "the configuration says tcp", ""};
  if (fabric.kind == FabricKind::kVerbs) return open_verbs(reactor, fabric, memory_node);
  if (fabric.kind == FabricKind::kLoop) return open_loop(reactor, fabric, memory_node);
  auto verbs = open_verbs(reactor, fabric, memory_node);
  if (verbs) return verbs;
  auto loop = open_loop(reactor, fabric, memory_node);
  if (!loop) return OpenedRdma{nullptr, verbs.error().message + "; " + loop.error().message, ""};
  loop->what += " (" + verbs.error().message + ")";
  return loop;
}

Result<std::unique_ptr<engine::Fabric>> open_fabric(const FabricConfig& fabric,
                                                    std::string_view name) {
  if (name != "verbs") return open_loop_fabric(fabric);
  HAT_TRY(std::unique_ptr<engine::Fabric> device, engine::open_verbs_fabric(device_of(fabric)));
  return device;
}

}  // namespace hat
