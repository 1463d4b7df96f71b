// SPDX-License-Identifier: Apache-2.0
#include "engine/rdma/lane_completions.h"

namespace hat::engine {

Result<std::shared_ptr<LaneCompletions>> LaneCompletions::create(
    Reactor& reactor, Fabric& fabric, uint32_t entries,
    const std::array<Duration, kLaneClasses>& spin) {
  std::shared_ptr<LaneCompletions> completions(new LaneCompletions(reactor));
  for (size_t i = 0; i < kLaneClasses; ++i) {
    Class& lanes = completions->classes_[i];
    lanes.spin = spin[i];
    HAT_TRY(lanes.router, CompletionRouter::create(fabric, entries));
    lanes.watch =
        reactor.watch(lanes.router->event_fd(), [&lanes] { lanes.router->take_events(); });
  }
  return completions;
}

bool LaneCompletions::poll() {
  bool found = false;
  for (Class& lanes : classes_) {
    if (lanes.router->poll() == 0) continue;
    found = true;
    reactor_.poll_for(lanes.spin);
  }
  return found;
}

bool LaneCompletions::prepare_to_sleep() {
  bool sleeps = true;
  for (Class& lanes : classes_) sleeps &= lanes.router->empty() || lanes.router->prepare_to_sleep();
  return sleeps;
}

void LaneCompletions::on_event(const FabricEvent& event) {
  for (Class& lanes : classes_) lanes.router->on_event(event);
}

}  // namespace hat::engine
