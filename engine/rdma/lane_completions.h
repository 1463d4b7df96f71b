// SPDX-License-Identifier: Apache-2.0
// engine/rdma/lane_completions.h: the completions of RDMA lanes in a worker's event loop: a
// CompletionRouter for each class of lanes, which the loop polls, and on which it sleeps.
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
#include "engine/rdma/completion_router.h"

namespace hat::engine {

enum class LaneClass : uint8_t { kLatency, kThroughput };
inline constexpr size_t kLaneClasses = 2;

class LaneCompletions {
 public:
  // Creates the routers, each with a completion queue that begins with `entries` entries. After a
  // poll of a class has found something, the reactor polls for the time `spin` of this class before
  // it sleeps. `reactor` and `fabric` must outlive the object.
  static Result<std::shared_ptr<LaneCompletions>> create(
      Reactor& reactor, Fabric& fabric, uint32_t entries,
      const std::array<Duration, kLaneClasses>& spin);

  const std::shared_ptr<CompletionRouter>& router(LaneClass lanes) const {
    return classes_[static_cast<size_t>(lanes)].router;
  }
  bool poll();              // returns true if a poll of a class found something
  bool prepare_to_sleep();  // returns false if the reactor must not sleep
  void on_event(const FabricEvent& event);

 private:
  struct Class {
    std::shared_ptr<CompletionRouter> router;
    Duration spin{};
    std::unique_ptr<Watch> watch;
  };
  explicit LaneCompletions(Reactor& reactor) : reactor_(reactor) {}

  Reactor& reactor_;
  std::array<Class, kLaneClasses> classes_;
};

}  // namespace hat::engine
