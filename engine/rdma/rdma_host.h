// SPDX-License-Identifier: Apache-2.0
// engine/rdma/rdma_host.h: one worker's access to RDMA: the fabric, a domain (protection domain,
// registered memory and receives) for each link that has lanes, and the completion queues.
//
// A link gets its domain with its first lane, and keeps it until some seconds after the end of its
// last lane (LaneSetOptions::domain_linger). So a peer can access no memory that lanes of other
// peers use or have used, and a peer that uses no lanes has no memory. Domains of an RDMA device
// share two completion queues, one for each class of lanes. On the loop fabric, each domain has its
// own.
//
// All completion queues are polled at the end of each event-loop iteration. After a poll has found
// something, the worker polls for the time RdmaDomainOptions::spin of the class before it sleeps.
// Before the worker sleeps, it arms the completion queues, so that a completion wakes it.
//
// Bounds   kDomainsMax domains; further links have no RDMA lanes. All domains together register at
//          most as much memory as kFullDomains domains may have, or as kDomainsMax domains begin
//          with if that is more. budget() has these limits, and those of the completion queues.
// Thread   the reactor's thread.
// Errors   create() and domain_for_link() return an Error.
#pragma once

#include <list>
#include <memory>
#include <string>

#include "base/reactor.h"
#include "engine/rdma/rdma_domain.h"

namespace hat::engine {

class RdmaHost final : private IterationEvents {
 public:
  static constexpr size_t kDomainsMax = 128;
  static_assert(kDomainsMax == CompletionRouter::kPollersMax);
  static constexpr size_t kFullDomains = 16;

  // Creates a host without domains, and checks that this machine has memory for one domain.
  // `options` apply to each domain. `reactor` must outlive the host, and every holder of a domain
  // must release it before the host is destroyed.
  static Result<std::unique_ptr<RdmaHost>> create(Reactor& reactor, std::unique_ptr<Fabric> fabric,
                                                  const RdmaDomainOptions& options);
  ~RdmaHost() override;

  // Returns Fabric::name(), which is equal for all domains of a host, as is Fabric::reach().
  const std::string& fabric_name() const { return name_; }
  const std::string& reach() const { return reach_; }
  // Returns the legs that the fabric can perform, as a mask of bit_of(leg).
  uint32_t legs() const { return legs_; }

  // Creates a domain for a link. The link releases the domain some time after its last lane; the
  // host then destroys the domain, once no peer can access its memory. Until then the domain
  // counts against `budget`, which must be a part of the host's budget, or null for the host's.
  Result<std::shared_ptr<RdmaDomain>> domain_for_link(std::shared_ptr<RdmaBudget> budget = nullptr);
  // Returns the limits on what all domains use together, and how much of them is used.
  const std::shared_ptr<RdmaBudget>& budget() const { return budget_; }
  // Returns the bytes of memory that the arenas of all domains have registered.
  uint64_t registered_bytes() const { return budget_->used(Resource::kMemory); }
  const std::list<std::shared_ptr<RdmaDomain>>& domains() const { return domains_; }
  // Handles the events of the fabric and of all domains that are not completions. The reactor calls
  // this when such an event has occurred; a test whose reactor does not watch descriptors calls it
  // in each iteration.
  void take_fabric_events();

 private:
  RdmaHost(Reactor& reactor, std::unique_ptr<Fabric> fabric, const RdmaDomainOptions& options);
  void on_iteration_end() override;
  bool may_sleep() override;
  void forget_unused();

  Reactor& reactor_;
  const RdmaDomainOptions options_;
  const std::unique_ptr<Fabric> fabric_;  // opened the device; no lane uses it
  const std::string name_;
  const std::string reach_;
  const uint32_t legs_;
  const std::shared_ptr<RdmaBudget> budget_;
  std::shared_ptr<LaneCompletions> shared_;  // null if each domain has its own completion queues
  std::list<std::shared_ptr<RdmaDomain>> domains_;  // can grow while a loop visits it
  std::unique_ptr<Watch> fabric_watch_;
  bool found_ = false;  // a poll of this event-loop iteration found something
};

}  // namespace hat::engine
