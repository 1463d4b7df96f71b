// SPDX-License-Identifier: Apache-2.0
#include "engine/rdma/rdma_host.h"

#include "engine/memory/need.h"

namespace hat::engine {
namespace {

static_assert(kRegionsNeeded == kPurposes);
constexpr std::array<const char*, kPurposes> kPartNames = {"to receive", "to send", "for control"};

}  // namespace

Result<std::unique_ptr<RdmaHost>> RdmaHost::create(Reactor& reactor, std::unique_ptr<Fabric> fabric,
                                                   const RdmaHostOptions& options) {
  std::unique_ptr<RdmaHost> host(new RdmaHost(reactor, std::move(fabric)));
  RdmaHost* self = host.get();
  MemoryNeed need;
  for (size_t i = 0; i < kPurposes; ++i) need.add(kPartNames[i], 1, options.arena.bytes[i]);
  MemoryLimits limits = this_host_memory();
  const FabricLimits fabric_limits = host->fabric_->limits();
  limits.regions = fabric_limits.regions_max;
  if (!fabric_limits.pins) limits.memlock = UINT64_MAX;
  HAT_TRY_VOID(check(need, limits, false));
  HAT_TRY(host->arena_, Arena::create(*host->fabric_, options.arena));
  for (size_t i = 0; i < kLaneClasses; ++i) {
    Class& lanes = host->classes_[i];
    lanes.spin = options.spin[i];
    HAT_TRY(lanes.poller, Poller::create(*host->fabric_, *host->arena_, options.poller));
    lanes.watch =
        reactor.watch(lanes.poller->event_fd(), [&lanes] { lanes.poller->take_events(); });
  }
  host->fabric_watch_ =
      reactor.watch(host->fabric_->event_fd(), [self] { self->take_fabric_events(); });
  reactor.add_turn_events(*self);
  return host;
}

RdmaHost::~RdmaHost() { reactor_.remove_turn_events(*this); }

void RdmaHost::take_fabric_events() {
  while (const auto event = fabric_->next_event()) {
    for (Class& lanes : classes_) lanes.poller->on_event(*event);
  }
  for (Class& lanes : classes_) lanes.poller->forget_settled();
}

void RdmaHost::on_turn_end() {
  found_ = false;
  for (Class& lanes : classes_) {
    if (lanes.poller->look() == 0) continue;
    found_ = true;
    reactor_.stay_awake_until(reactor_.now() + lanes.spin);
  }
}

bool RdmaHost::may_sleep() {
  // What was found may have made work for who had his turn's end before this.
  bool sleeps = !found_;
  for (Class& lanes : classes_) sleeps &= lanes.poller->empty() || lanes.poller->prepare_to_sleep();
  return sleeps;
}

}  // namespace hat::engine
