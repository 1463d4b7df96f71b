// SPDX-License-Identifier: Apache-2.0
// engine/rdma/rdma_host.h: what a worker has for its RDMA lanes: domains, and their place in the
// worker's turns.
//
// Where a domain costs little (the loop fabric), each link has one of its own as soon as it has
// lanes: what one peer can reach, no other peer's lanes ever use, also not after the link has
// ended. Where it is a device's memory, all links share one.
//
// At a turn's end all pollers look. For the class's spin after something was found, the worker
// looks again instead of sleeping; before it sleeps, completions are made to wake it.
//
// Bounds   kDomainsMax domains; a link beyond them has no lanes.
// Thread   the reactor's.
// Errors   create() and domain_for_link() in words.
#pragma once

#include <list>
#include <memory>
#include <string>

#include "base/reactor.h"
#include "engine/rdma/rdma_domain.h"

namespace hat::engine {

class RdmaHost final : private TurnEvents {
 public:
  static constexpr size_t kDomainsMax = 64;

  // `reactor` outlives it, and all that holds a domain ends before.
  // All links share one domain.
  static Result<std::unique_ptr<RdmaHost>> create_shared(Reactor& reactor,
                                                         std::unique_ptr<Fabric> fabric,
                                                         const RdmaDomainOptions& options);
  // Each link has one of its own. The first one's fabric is opened at once.
  static Result<std::unique_ptr<RdmaHost>> create_per_link(Reactor& reactor, OpenFabric open,
                                                           const RdmaDomainOptions& options);
  ~RdmaHost() override;

  // What its fabrics are called and reach, all alike.
  const std::string& fabric_name() const { return name_; }
  const std::string& reach() const { return reach_; }

  Result<std::shared_ptr<RdmaDomain>> domain_for_link();
  // Those that are in use, and the next one's.
  const std::list<std::shared_ptr<RdmaDomain>>& domains() const { return domains_; }

 private:
  RdmaHost(Reactor& reactor, OpenFabric open, const RdmaDomainOptions& options)
      : reactor_(reactor), open_(std::move(open)), options_(options) {}
  static Result<std::unique_ptr<RdmaHost>> create(Reactor& reactor, OpenFabric open,
                                                  std::unique_ptr<Fabric> first,
                                                  const RdmaDomainOptions& options);
  Result<void> add_domain(std::unique_ptr<Fabric> fabric);
  void on_turn_end() override;
  bool may_sleep() override;
  void forget_unused();

  Reactor& reactor_;
  const OpenFabric open_;  // null: there is one domain
  const RdmaDomainOptions options_;
  std::string name_;
  std::string reach_;
  std::list<std::shared_ptr<RdmaDomain>> domains_;  // may grow while it is walked
  RdmaDomain* next_ = nullptr;                      // for the next link; null: to be opened
  bool found_ = false;                              // in this turn
};

}  // namespace hat::engine
