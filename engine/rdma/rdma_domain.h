// SPDX-License-Identifier: Apache-2.0
// engine/rdma/rdma_domain.h: a fabric, the memory registered with that fabric, and a poller for
// each class of lanes. All lanes of a domain share the fabric, the memory and the pollers; lanes of
// other domains cannot access the memory, as with a protection domain of verbs.
//
// Latency-class and throughput-class lanes have separate completion queues, so that no message of
// one class waits for messages of the other class (HatRPC 4.1, "optimization isolation").
//
// Thread   the reactor's thread.
// Errors   create() returns an Error.
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
  // Creates a domain; `reactor` must outlive it.
  static Result<std::unique_ptr<RdmaDomain>> create(Reactor& reactor,
                                                    std::unique_ptr<Fabric> fabric,
                                                    const RdmaDomainOptions& options);

  // Returns the fabric. An object that registers its own memory with the fabric must hold this
  // pointer, because the domain can be destroyed before the object.
  const std::shared_ptr<Fabric>& fabric() const { return fabric_; }
  Arena& arena() { return *arena_; }
  Poller& poller(LaneClass lanes) { return *classes_[static_cast<size_t>(lanes)].poller; }

  // Polls with the pollers of both classes. Returns true if a poller found something. The reactor
  // then polls, instead of sleeping, for the time `spin` of that poller's class.
  bool poll();
  bool prepare_to_sleep();    // returns false if the reactor must not sleep
  void take_fabric_events();  // handles the fabric's events that are not completions
  // Returns true if the domain has no lane, and no ended lane whose memory the other side can still
  // access (Poller::retire()).
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
