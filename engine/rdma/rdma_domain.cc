// SPDX-License-Identifier: Apache-2.0
#include "engine/rdma/rdma_domain.h"

#include <algorithm>

#include "engine/memory/need.h"

namespace hat::engine {
namespace {

static_assert(kRegionsNeeded == Arena::kShares);
constexpr std::array<Resource, kLaneClasses> kEntriesOfClass = {Resource::kLatencyEntries,
                                                                Resource::kThroughputEntries};
constexpr std::array<const char*, kPurposes> kPartNames = {"to receive", "to send", "for control"};

Result<void> check_limits(const Fabric& fabric, const MemoryNeed& need) {
  MemoryLimits limits = this_host_memory();
  const FabricLimits fabric_limits = fabric.limits();
  limits.regions = fabric_limits.regions_max;
  if (!fabric_limits.pins) limits.memlock = UINT64_MAX;
  return check(need, limits);
}

}  // namespace

Result<void> RdmaDomain::check_memory(const Fabric& fabric, const RdmaDomainOptions& options) {
  MemoryNeed need;
  for (size_t i = 0; i < kPurposes; ++i) need.add(kPartNames[i], 1, options.arena.bytes[i]);
  return check_limits(fabric, need);
}

Result<std::unique_ptr<RdmaDomain>> RdmaDomain::create(Reactor& reactor,
                                                       std::unique_ptr<Fabric> fabric,
                                                       std::shared_ptr<LaneCompletions> completions,
                                                       std::shared_ptr<RdmaBudget> budget,
                                                       const RdmaDomainOptions& options) {
  MemoryNeed need;
  need.add("one link's first memory", 1, options.arena.first_total());
  HAT_TRY_VOID(check_limits(*fabric, need));
  std::unique_ptr<RdmaDomain> domain(new RdmaDomain(std::move(fabric), budget));
  HAT_TRY_VOID(domain->charge_.add(1));
  domain->completions_ = std::move(completions);
  if (!domain->completions_) {
    HAT_TRY(domain->completions_,
            LaneCompletions::create(reactor, *domain->fabric_, options.poller.completions,
                                    options.spin));
  }
  HAT_TRY(domain->arena_, Arena::create(*domain->fabric_, options.arena, budget));
  for (size_t i = 0; i < kLaneClasses; ++i) {
    HAT_TRY(domain->pollers_[i],
            Poller::create(*domain->fabric_, *domain->arena_,
                           domain->completions_->router(LaneClass(i)), options.poller,
                           RdmaBudget::Charge(budget, kEntriesOfClass[i])));
  }
  if (const int events = domain->fabric_->event_fd(); events >= 0) {
    RdmaDomain* self = domain.get();
    domain->fabric_watch_ = reactor.watch(events, [self] { self->take_fabric_events(); });
  }
  return domain;
}

void RdmaDomain::take_fabric_events() {
  while (const auto event = fabric_->next_event()) completions_->on_event(*event);
  for (const auto& poller : pollers_) poller->forget_settled();
}

bool RdmaDomain::failed() const {
  return std::ranges::any_of(pollers_, [](const auto& poller) { return poller->failed(); });
}

bool RdmaDomain::empty() const {
  return std::ranges::all_of(
      pollers_, [](const auto& poller) { return poller->empty() && poller->settled(); });
}

}  // namespace hat::engine
