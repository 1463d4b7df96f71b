// SPDX-License-Identifier: Apache-2.0
// engine/rdma/rdma_host.h: what a worker has for its RDMA lanes: a fabric, memory, a poller for
// each class of lanes, and its place in the worker's turns.
//
// Latency-class and throughput-class lanes have completion queues of their own, so that neither's
// messages wait behind the other's (HatRPC 4.1, optimization isolation).
//
// At a turn's end both pollers look. For the class's spin after something was found, the worker
// looks again instead of sleeping; before it sleeps, completions are made to wake it.
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

struct RdmaHostOptions {
  ArenaOptions arena{.bytes = {64 << 20, 64 << 20, 16 << 20}};
  PollerOptions poller;
  std::array<Duration, kLaneClasses> spin = {std::chrono::milliseconds(10),
                                             std::chrono::microseconds(50)};
};

class RdmaHost final : private TurnEvents {
 public:
  // `reactor` outlives it.
  static Result<std::unique_ptr<RdmaHost>> create(Reactor& reactor, std::unique_ptr<Fabric> fabric,
                                                  const RdmaHostOptions& options);
  ~RdmaHost() override;

  Fabric& fabric() { return *fabric_; }
  Arena& arena() { return *arena_; }
  Poller& poller(LaneClass lanes) { return *classes_[static_cast<size_t>(lanes)].poller; }

 private:
  struct Class {
    std::unique_ptr<Poller> poller;
    Duration spin{};
    std::unique_ptr<Watch> watch;
  };

  RdmaHost(Reactor& reactor, std::unique_ptr<Fabric> fabric)
      : reactor_(reactor), fabric_(std::move(fabric)) {}
  void on_turn_end() override;
  bool may_sleep() override;
  void take_fabric_events();

  Reactor& reactor_;
  std::unique_ptr<Fabric> fabric_;
  std::unique_ptr<Arena> arena_;
  std::array<Class, kLaneClasses> classes_;
  bool found_ = false;  // in this turn
  std::unique_ptr<Watch> fabric_watch_;
};

}  // namespace hat::engine
