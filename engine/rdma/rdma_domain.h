// SPDX-License-Identifier: Apache-2.0
// engine/rdma/rdma_domain.h: what the lanes of one link need on a fabric: a protection domain of
// their own, the memory registered in it, and a poller for each class of lanes. Lanes of other
// domains cannot access the memory, use up the receives, or name the keys of this domain.
//
// Thread   the reactor's thread.
// Errors   create() and check_memory() return an Error.
#pragma once

#include <array>
#include <memory>

#include "base/reactor.h"
#include "engine/rdma/lane_completions.h"
#include "engine/rdma/poller.h"

namespace hat::engine {

struct RdmaDomainOptions {
  ArenaOptions arena{.bytes = {64 << 20, 64 << 20, 16 << 20}};
  PollerOptions poller;
  std::array<Duration, kLaneClasses> spin = {std::chrono::milliseconds(10),
                                             std::chrono::microseconds(50)};
};

class RdmaDomain {
 public:
  // Checks that this host allows the memory of one domain of `fabric` that has grown as far as
  // `options` permit: locked memory, free memory and memory keys.
  static Result<void> check_memory(const Fabric& fabric, const RdmaDomainOptions& options);

  // Creates a domain that consists of `fabric`, a fabric that no other domain uses. `completions`
  // are the completion queues that domains share; null if the fabric cannot share them, and the
  // domain then creates its own. The domain counts against `budget` as long as it exists, with
  // its memory and the entries of its completion queues. `reactor` must outlive the domain. Fails,
  // with the amounts, if the host or `budget` does not allow the memory with which the domain
  // begins.
  static Result<std::unique_ptr<RdmaDomain>> create(Reactor& reactor,
                                                    std::unique_ptr<Fabric> fabric,
                                                    std::shared_ptr<LaneCompletions> completions,
                                                    std::shared_ptr<RdmaBudget> budget,
                                                    const RdmaDomainOptions& options);

  // Returns the fabric. An object that registers its own memory with the fabric must hold this
  // pointer, because the domain can be destroyed before the object.
  const std::shared_ptr<Fabric>& fabric() const { return fabric_; }
  Arena& arena() { return *arena_; }
  Poller& poller(LaneClass lanes) { return *pollers_[static_cast<size_t>(lanes)]; }
  LaneCompletions& completions() { return *completions_; }

  // Handles the fabric's events that are not completions, and destroys ended lanes whose memory the
  // other side can no longer access.
  void take_fabric_events();
  // Returns true if the domain has no lane, and no ended lane whose memory the other side can still
  // access (Poller::retire()).
  bool empty() const;
  bool failed() const;  // true if a poller's receive queue has failed

 private:
  RdmaDomain(std::unique_ptr<Fabric> fabric, const std::shared_ptr<RdmaBudget>& budget)
      : charge_(budget, Resource::kDomains), fabric_(std::move(fabric)) {}

  RdmaBudget::Charge charge_;
  const std::shared_ptr<Fabric> fabric_;
  std::shared_ptr<LaneCompletions> completions_;
  std::unique_ptr<Arena> arena_;
  std::array<std::unique_ptr<Poller>, kLaneClasses> pollers_;
  std::unique_ptr<Watch> fabric_watch_;
};

}  // namespace hat::engine
