// SPDX-License-Identifier: Apache-2.0
// engine/rdma/rdma_domain.h: a fabric, memory registered with it, and a poller for each class of
// lanes. The lanes of a domain share them, and lanes of other domains cannot reach them (verbs
// calls this a protection domain).
//
// Latency-class and throughput-class lanes have completion queues of their own, so that no message
// of one class waits for messages of the other (HatRPC 4.1, optimization isolation).
//
// Thread   the reactor's.
// Errors   create() returns a sentence.
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

  // Returns the fabric. An object that registers memory of its own keeps this pointer, because the
  // domain may be destroyed before that object.
  const std::shared_ptr<Fabric>& fabric() const { return fabric_; }
  Arena& arena() { return *arena_; }
  Poller& poller(LaneClass lanes) { return *classes_[static_cast<size_t>(lanes)].poller; }

  // Polls with all pollers. Returns true if something was found; the reactor then stays awake for
  // the spin of that class.
  bool poll();
  bool prepare_to_sleep();    // returns false if something was found: do not sleep then
  void take_fabric_events();  // handles the fabric's events that are not completions
  // Returns true if the domain has no lane, and no retired lane that is not settled yet.
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
