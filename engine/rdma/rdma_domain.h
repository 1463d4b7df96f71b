// SPDX-License-Identifier: Apache-2.0
// engine/rdma/rdma_domain.h: a fabric, memory registered with it, and a poller for each class of
// lanes: what the lanes in it share, and lanes of other domains cannot reach (verbs calls this a
// protection domain).
//
// Latency-class and throughput-class lanes have completion queues of their own, so that neither's
// messages wait behind the other's (HatRPC 4.1, optimization isolation).
//
// Thread   the reactor's.
// Errors   create() in words.
#pragma once

#include <array>
#include <memory>

#include "base/reactor.h"
#include "engine/rdma/poller.h"

namespace hat::engine {

enum class LaneClass : uint8_t { kLatency, kThroughput };
inline constexpr size_t kLaneClasses = 2;

struct RdmaDomainOptions {
  ArenaOptions arena{.bytes = {64 << 20, 64 << 20, 16 << 20}};
  PollerOptions poller;
  std::array<Duration, kLaneClasses> spin = {std::chrono::milliseconds(10),
                                             std::chrono::microseconds(50)};
};

class RdmaDomain {
 public:
  // `reactor` outlives it.
  static Result<std::unique_ptr<RdmaDomain>> create(Reactor& reactor,
                                                    std::unique_ptr<Fabric> fabric,
                                                    const RdmaDomainOptions& options);

  // Whoever registers memory of his own keeps the fabric; the domain may be gone before.
  const std::shared_ptr<Fabric>& fabric() const { return fabric_; }
  Arena& arena() { return *arena_; }
  Poller& poller(LaneClass lanes) { return *classes_[static_cast<size_t>(lanes)].poller; }

  // All pollers look. Whether something was found: then the reactor stays awake for the class's
  // spin.
  bool look();
  bool prepare_to_sleep();    // false: something was found; do not sleep
  void take_fabric_events();  // what the fabric tells beside completions
  // No lane is in it, and none that had failed is still waited for.
  bool empty() const;

 private:
  struct Class {
    std::unique_ptr<Poller> poller;
    Duration spin{};
    std::unique_ptr<Watch> watch;
  };

  RdmaDomain(Reactor& reactor, std::unique_ptr<Fabric> fabric)
      : reactor_(reactor), fabric_(std::move(fabric)) {}

  Reactor& reactor_;
  std::shared_ptr<Fabric> fabric_;
  std::unique_ptr<Arena> arena_;
  std::array<Class, kLaneClasses> classes_;
  std::unique_ptr<Watch> fabric_watch_;
};

}  // namespace hat::engine
