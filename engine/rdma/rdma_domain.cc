// SPDX-License-Identifier: Apache-2.0
#include "engine/rdma/rdma_domain.h"

#include <algorithm>

#include "engine/memory/need.h"

namespace hat::engine {
namespace {

static_assert(kRegionsNeeded == kPurposes);
constexpr std::array<const char*, kPurposes> kPartNames = {"to receive", "to send", "for control"};

}  // namespace

Result<std::unique_ptr<RdmaDomain>> RdmaDomain::create(Reactor& reactor,
                                                       std::unique_ptr<Fabric> fabric,
                                                       const RdmaDomainOptions& options) {
  std::unique_ptr<RdmaDomain> domain(new RdmaDomain(reactor, std::move(fabric)));
  RdmaDomain* self = domain.get();
  MemoryNeed need;
  for (size_t i = 0; i < kPurposes; ++i) need.add(kPartNames[i], 1, options.arena.bytes[i]);
  MemoryLimits limits = this_host_memory();
  const FabricLimits fabric_limits = domain->fabric_->limits();
  limits.regions = fabric_limits.regions_max;
  if (!fabric_limits.pins) limits.memlock = UINT64_MAX;
  HAT_TRY_VOID(check(need, limits, false));
  HAT_TRY(domain->arena_, Arena::create(*domain->fabric_, options.arena));
  for (size_t i = 0; i < kLaneClasses; ++i) {
    Class& lanes = domain->classes_[i];
    lanes.spin = options.spin[i];
    HAT_TRY(lanes.poller, Poller::create(*domain->fabric_, *domain->arena_, options.poller));
    lanes.watch =
        reactor.watch(lanes.poller->event_fd(), [&lanes] { lanes.poller->take_events(); });
  }
  domain->fabric_watch_ =
      reactor.watch(domain->fabric_->event_fd(), [self] { self->take_fabric_events(); });
  return domain;
}

void RdmaDomain::take_fabric_events() {
  while (const auto event = fabric_->next_event()) {
    for (Class& lanes : classes_) lanes.poller->on_event(*event);
  }
  for (Class& lanes : classes_) lanes.poller->forget_settled();
}

bool RdmaDomain::poll() {
  bool found = false;
  for (Class& lanes : classes_) {
    if (lanes.poller->poll() == 0) continue;
    found = true;
    reactor_.poll_for(lanes.spin);
  }
  return found;
}

bool RdmaDomain::prepare_to_sleep() {
  bool sleeps = true;
  for (Class& lanes : classes_) sleeps &= lanes.poller->empty() || lanes.poller->prepare_to_sleep();
  return sleeps;
}

bool RdmaDomain::empty() const {
  return std::ranges::all_of(classes_, [](const Class& lanes) {
    return lanes.poller->empty() && lanes.poller->settled();
  });
}

}  // namespace hat::engine
