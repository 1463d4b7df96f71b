// SPDX-License-Identifier: Apache-2.0
#include "engine/rdma/completion_router.h"

#include <algorithm>
#include <bit>

#include "base/check.h"
#include "engine/rdma/poller.h"
#include "engine/rdma/rdma_lane.h"

namespace hat::engine {

Result<std::unique_ptr<CompletionRouter>> CompletionRouter::create(Fabric& fabric,
                                                                   uint32_t entries) {
  std::unique_ptr<CompletionRouter> router(new CompletionRouter(fabric));
  router->entries_ = std::min(entries, fabric.limits().completion_entries_max);
  HAT_TRY(router->queue_, fabric.create_completion_queue(router->entries_));
  return router;
}

// --- Pollers and lanes ---

uint32_t CompletionRouter::add(Poller& poller) {
  CHECK_LT(pollers_.size(), size_t{kPollersMax});
  do {
    last_poller_ = (last_poller_ + 1) % kPollerNumbers;
  } while (by_slot_[last_poller_ % kPollersMax] != nullptr);
  by_slot_[last_poller_ % kPollersMax] = &poller;
  pollers_.push_back(&poller);
  return last_poller_;
}

void CompletionRouter::remove(Poller& poller) {
  by_slot_[poller.number() % kPollersMax] = nullptr;
  std::erase(pollers_, &poller);
}

Result<void> CompletionRouter::reserve(uint32_t entries) {
  const uint64_t wanted = uint64_t{reserved_} + entries;
  if (wanted > entries_) {
    const uint32_t most = fabric_.limits().completion_entries_max;
    if (wanted > most) {
      return fail(ErrorCode::kExhausted,
                  "RDMA lanes: a completion queue of the device has at most " +
                      std::to_string(most) + " entries, and " + std::to_string(wanted) +
                      " are needed for one more lane: use fewer lanes, or more workers");
    }
    const auto grown = static_cast<uint32_t>(std::min<uint64_t>(std::bit_ceil(wanted), most));
    HAT_TRY_VOID(queue_->resize(grown));
    entries_ = grown;
  }
  reserved_ += entries;
  return {};
}

void CompletionRouter::release(uint32_t entries) {
  DCHECK_LE(entries, reserved_);
  reserved_ -= entries;
}

void CompletionRouter::add(RdmaLane& lane) { by_number_[lane.number()] = &lane; }

void CompletionRouter::remove(RdmaLane& lane) {
  by_number_.erase(lane.number());
  last_ = nullptr;
}

RdmaLane* CompletionRouter::find(uint32_t queue_pair) {
  if (last_ != nullptr && last_->number() == queue_pair) return last_;
  const auto found = by_number_.find(queue_pair);
  return found == by_number_.end() ? nullptr : last_ = found->second;
}

// Returns null if the poller is gone. A completion queue can return a receive later than the queue
// pair that consumed it, and its poller, are gone.
Poller* CompletionRouter::poller_of(uint64_t receive_id) const {
  const uint32_t number = static_cast<uint32_t>(receive_id >> 32) & (kPollerNumbers - 1);
  Poller* poller = by_slot_[number % kPollersMax];
  return poller != nullptr && poller->number() == number ? poller : nullptr;
}

// --- Polling ---

void CompletionRouter::dispatch(const Completion& done) {
  RdmaLane* lane = find(done.queue_pair);
  if ((done.id & kReceiveBit) != 0) {
    Poller* poller = poller_of(done.id);
    // A lane of another poller has the number of the queue pair that consumed the receive: the
    // device has reused the number. The receive is not for this lane.
    if (lane != nullptr && &lane->poller() != poller) lane = nullptr;
    if (poller != nullptr) poller->on_receive(lane, done);
  } else if (lane != nullptr) {
    lane->on_send_completion(done);
    lane->poller().touch(lane);
  }
}

size_t CompletionRouter::poll() {
  const size_t count = queue_->poll(done_);
  if (count == 0 && last_ != nullptr) last_->expect();
  for (size_t i = 0; i < count; ++i) dispatch(done_[i]);
  size_t found = count;
  // A lane's events can call a link, which can then create the pollers of another domain.
  for (size_t i = 0; i < pollers_.size(); ++i) found += pollers_[i]->finish_poll();
  return found;
}

bool CompletionRouter::prepare_to_sleep() {
  if (poll() != 0) return false;  // first, as it can post READs, whose completions end the sleep
  const bool any = std::ranges::any_of(pollers_, &Poller::wants_send_completions);
  queue_->arm(!any);
  return poll() == 0;
}

void CompletionRouter::on_event(const FabricEvent& event) {
  if (event.kind == FabricEvent::Kind::kQueuePairError) {
    if (RdmaLane* lane = find(event.queue_pair)) lane->on_queue_pair_error(event.detail);
  } else if (event.kind == FabricEvent::Kind::kReceiveQueueError) {
    const auto found = std::ranges::find(pollers_, event.receive_queue, [](const Poller* poller) {
      return &std::as_const(*poller).receive_queue();
    });
    if (found != pollers_.end()) (*found)->on_receive_queue_error(event.detail);
  } else if (event.kind == FabricEvent::Kind::kDeviceGone) {
    std::vector<RdmaLane*> all;
    for (const auto& [number, lane] : by_number_) all.push_back(lane);
    for (RdmaLane* lane : all) lane->on_queue_pair_error("the RDMA device is gone");
  }
}

}  // namespace hat::engine
