// SPDX-License-Identifier: Apache-2.0
// engine/rdma/rdma_host.h: owns the domains (registered memory and pollers) that one worker uses
// for RDMA lanes, and polls them in the worker's event loop.
//
// With the loop fabric, a domain costs little, so each link gets its own domain with its first
// lane. Then a peer can access no memory that lanes of other peers use, not even after its link has
// ended. With an RDMA device, all links share one domain.
//
// All pollers poll at the end of each event-loop iteration. After a poller has found something, the
// worker polls for the time RdmaDomainOptions::spin of the poller's class before it sleeps. Before
// the worker sleeps, it arms the completion queues, so that a completion wakes it.
//
// Bounds   kDomainsMax domains; if each link has its own domain, further links have no RDMA lanes.
// Thread   the reactor's thread.
// Errors   the create functions and domain_for_link() return an Error.
#pragma once

#include <list>
#include <memory>
#include <string>

#include "base/reactor.h"
#include "engine/rdma/rdma_domain.h"

namespace hat::engine {

class RdmaHost final : private IterationEvents {
 public:
  static constexpr size_t kDomainsMax = 64;

  // Creates a host whose links all share one domain. `reactor` must outlive the host, and every
  // holder of a domain must release it before the host is destroyed.
  static Result<std::unique_ptr<RdmaHost>> create_shared(Reactor& reactor,
                                                         std::unique_ptr<Fabric> fabric,
                                                         const RdmaDomainOptions& options);
  // Creates a host that gives each link its own domain. Calls `open` for each domain's fabric, and
  // for the first one at once. `reactor` must outlive the host, and every holder of a domain must
  // release it before the host is destroyed.
  static Result<std::unique_ptr<RdmaHost>> create_per_link(Reactor& reactor, OpenFabric open,
                                                           const RdmaDomainOptions& options);
  ~RdmaHost() override;

  // Returns Fabric::name(), which is equal for all fabrics of a host, as is Fabric::reach().
  const std::string& fabric_name() const { return name_; }
  const std::string& reach() const { return reach_; }
  // Returns the legs that the fabrics can perform, as a mask of bit_of(leg).
  uint32_t legs() const { return legs_; }

  Result<std::shared_ptr<RdmaDomain>> domain_for_link();
  // Returns all open domains: the domains in use, and the domain for the next link if it is open
  // already.
  const std::list<std::shared_ptr<RdmaDomain>>& domains() const { return domains_; }

 private:
  RdmaHost(Reactor& reactor, OpenFabric open, const RdmaDomainOptions& options)
      : reactor_(reactor), open_(std::move(open)), options_(options) {}
  static Result<std::unique_ptr<RdmaHost>> create(Reactor& reactor, OpenFabric open,
                                                  std::unique_ptr<Fabric> first,
                                                  const RdmaDomainOptions& options);
  Result<void> add_domain(std::unique_ptr<Fabric> fabric);
  void on_iteration_end() override;
  bool may_sleep() override;
  void forget_unused();

  Reactor& reactor_;
  const OpenFabric open_;  // null: all links share one domain
  const RdmaDomainOptions options_;
  std::string name_;
  std::string reach_;
  uint32_t legs_ = 0;
  std::list<std::shared_ptr<RdmaDomain>> domains_;  // can grow while a loop visits it
  RdmaDomain* next_ = nullptr;  // the domain for the next link; null if it is not open yet
  bool found_ = false;          // a poll of this event-loop iteration found something
};

}  // namespace hat::engine
