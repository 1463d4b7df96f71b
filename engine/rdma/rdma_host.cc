// SPDX-License-Identifier: Apache-2.0
#include "engine/rdma/rdma_host.h"

#include <algorithm>
#include <utility>

#include "engine/rdma/leg_table.h"

namespace hat::engine {
namespace {

RdmaBudget::Amounts most_of(const ArenaOptions& arena, const FabricLimits& fabric) {
  const uint64_t entries =
      fabric.shares_completions ? fabric.completion_entries_max : RdmaBudget::kUnlimited;
  return {std::max<uint64_t>(RdmaHost::kFullDomains * arena.total(),
                             RdmaHost::kDomainsMax * arena.first_total()),
          RdmaHost::kDomainsMax, entries, entries};
}

}  // namespace

RdmaHost::RdmaHost(Reactor& reactor, std::unique_ptr<Fabric> fabric,
                   const RdmaDomainOptions& options)
    : reactor_(reactor),
      options_(options),
      fabric_(std::move(fabric)),
      name_(fabric_->name()),
      reach_(fabric_->reach()),
      legs_(legs_of(fabric_->limits())),
      budget_(std::make_shared<RdmaBudget>("all links of this worker",
                                           most_of(options.arena, fabric_->limits()))) {
  reactor_.add_iteration_events(*this);
}

RdmaHost::~RdmaHost() { reactor_.remove_iteration_events(*this); }

Result<std::unique_ptr<RdmaHost>> RdmaHost::create(Reactor& reactor, std::unique_ptr<Fabric> fabric,
                                                   const RdmaDomainOptions& options) {
  HAT_TRY_VOID(RdmaDomain::check_memory(*fabric, options));
  std::unique_ptr<RdmaHost> host(new RdmaHost(reactor, std::move(fabric), options));
  RdmaHost* self = host.get();
  if (host->fabric_->limits().shares_completions) {
    HAT_TRY(host->shared_, LaneCompletions::create(reactor, *host->fabric_,
                                                   options.poller.completions, options.spin));
  }
  host->fabric_watch_ =
      reactor.watch(host->fabric_->event_fd(), [self] { self->take_fabric_events(); });
  return host;
}

Result<std::shared_ptr<RdmaDomain>> RdmaHost::domain_for_link(std::shared_ptr<RdmaBudget> budget) {
  if (!budget) budget = budget_;
  // First, so that a peer that has used up its part causes no work for the device.
  HAT_TRY_VOID(RdmaBudget::check(budget.get(), Resource::kDomains, 1));
  HAT_TRY_VOID(RdmaBudget::check(budget.get(), Resource::kMemory, options_.arena.first_total()));
  HAT_TRY(std::unique_ptr<Fabric> fabric, fabric_->open_domain());
  HAT_TRY(std::shared_ptr<RdmaDomain> domain,
          RdmaDomain::create(reactor_, std::move(fabric), shared_, std::move(budget), options_));
  return domains_.emplace_back(std::move(domain));
}

void RdmaHost::take_fabric_events() {
  while (const auto event = fabric_->next_event()) {
    if (shared_) shared_->on_event(*event);
  }
  for (const auto& domain : domains_) domain->take_fabric_events();
}

// Destroys the domains that no link uses. Must not be called while completions are polled.
void RdmaHost::forget_unused() {
  std::erase_if(domains_,
                [](const auto& domain) { return domain.use_count() == 1 && domain->empty(); });
}

void RdmaHost::on_iteration_end() {
  found_ = false;
  if (shared_) {
    found_ = shared_->poll();
  } else {
    // A poll can call a link, which can then open another domain with domain_for_link().
    for (const auto& domain : domains_) found_ |= domain->completions().poll();
  }
  forget_unused();
}

bool RdmaHost::may_sleep() {
  // The worker must not sleep if a poll found something: the poll can have caused work for objects
  // whose on_iteration_end() was called earlier in this iteration.
  bool sleeps = !found_;
  if (shared_) return shared_->prepare_to_sleep() && sleeps;
  for (const auto& domain : domains_) sleeps &= domain->completions().prepare_to_sleep();
  return sleeps;
}

}  // namespace hat::engine
