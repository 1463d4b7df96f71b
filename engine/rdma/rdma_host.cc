// SPDX-License-Identifier: Apache-2.0
#include "engine/rdma/rdma_host.h"

#include <algorithm>

#include "engine/rdma/leg_table.h"

namespace hat::engine {

Result<std::unique_ptr<RdmaHost>> RdmaHost::create(Reactor& reactor, OpenFabric open,
                                                   std::unique_ptr<Fabric> first,
                                                   const RdmaDomainOptions& options) {
  std::unique_ptr<RdmaHost> host(new RdmaHost(reactor, std::move(open), options));
  host->name_ = first->name();
  host->reach_ = first->reach();
  host->legs_ = legs_of(first->limits());
  HAT_TRY_VOID(host->add_domain(std::move(first)));
  reactor.add_iteration_events(*host);
  return host;
}

Result<std::unique_ptr<RdmaHost>> RdmaHost::create_shared(Reactor& reactor,
                                                          std::unique_ptr<Fabric> fabric,
                                                          const RdmaDomainOptions& options) {
  return create(reactor, nullptr, std::move(fabric), options);
}

Result<std::unique_ptr<RdmaHost>> RdmaHost::create_per_link(Reactor& reactor, OpenFabric open,
                                                            const RdmaDomainOptions& options) {
  HAT_TRY(std::unique_ptr<Fabric> first, open());
  return create(reactor, std::move(open), std::move(first), options);
}

RdmaHost::~RdmaHost() { reactor_.remove_iteration_events(*this); }

Result<void> RdmaHost::add_domain(std::unique_ptr<Fabric> fabric) {
  HAT_TRY(std::shared_ptr<RdmaDomain> domain,
          RdmaDomain::create(reactor_, std::move(fabric), options_));
  next_ = domain.get();
  domains_.push_back(std::move(domain));
  return {};
}

Result<std::shared_ptr<RdmaDomain>> RdmaHost::domain_for_link() {
  if (!open_) return domains_.front();
  if (next_ == nullptr) {
    if (domains_.size() == kDomainsMax) {
      return fail(ErrorCode::kExhausted,
                  "RDMA: " + std::to_string(kDomainsMax) +
                      " links of this worker already have memory for lanes, the maximum");
    }
    HAT_TRY(std::unique_ptr<Fabric> fabric, open_());
    HAT_TRY_VOID(add_domain(std::move(fabric)));
  }
  const auto found = std::ranges::find(domains_, next_, &std::shared_ptr<RdmaDomain>::get);
  next_ = nullptr;
  return *found;
}

// Destroys the domains that no link uses. Must not be called while a domain polls.
void RdmaHost::forget_unused() {
  if (!open_) return;
  std::erase_if(domains_, [this](const auto& domain) {
    return domain.use_count() == 1 && domain.get() != next_ && domain->empty();
  });
}

void RdmaHost::on_iteration_end() {
  found_ = false;
  // A poll can call a link, which can then open another domain with domain_for_link().
  for (const auto& domain : domains_) found_ |= domain->poll();
  forget_unused();
}

bool RdmaHost::may_sleep() {
  // The worker must not sleep if a poll found something: the poll can have caused work for objects
  // whose on_iteration_end() was called earlier in this iteration.
  bool sleeps = !found_;
  for (const auto& domain : domains_) sleeps &= domain->prepare_to_sleep();
  return sleeps;
}

}  // namespace hat::engine
