// SPDX-License-Identifier: Apache-2.0
// engine/rdma/rdma_host.h: the domains that a worker has for its RDMA lanes, and their part in the
// worker's event loop.
//
// If a domain costs little (the loop fabric), each link gets a domain of its own with its first
// lane. Then no lane of another peer ever uses memory that this peer can reach, not even after the
// link has ended. If a domain is a device's memory, all links share one domain.
//
// All pollers poll at the end of each event-loop iteration. For the class's spin after something
// was found, the worker polls again instead of sleeping. Before it sleeps, it arms the completion
// queues, so that a completion wakes it.
//
// Bounds   kDomainsMax domains; a further link has no lanes.
// Thread   the reactor's.
// Errors   create() and domain_for_link() return sentences.
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
  // Creates a host that gives each link a domain of its own. Opens the fabric of the first domain
  // at once. The same lifetimes apply.
  static Result<std::unique_ptr<RdmaHost>> create_per_link(Reactor& reactor, OpenFabric open,
                                                           const RdmaDomainOptions& options);
  ~RdmaHost() override;

  // Returns Fabric::name(), and reach() returns Fabric::reach(). They are equal for all fabrics of
  // a host.
  const std::string& fabric_name() const { return name_; }
  const std::string& reach() const { return reach_; }
  // Returns the bits of the legs that the fabrics can perform.
  uint32_t legs() const { return legs_; }

  Result<std::shared_ptr<RdmaDomain>> domain_for_link();
  // Returns the domains in use, and the one for the next link if it is open already.
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
  std::list<std::shared_ptr<RdmaDomain>> domains_;  // may grow during an iteration over it
  RdmaDomain* next_ = nullptr;                      // for the next link; null: not open yet
  bool found_ = false;  // a poll of this event-loop iteration found something
};

}  // namespace hat::engine
