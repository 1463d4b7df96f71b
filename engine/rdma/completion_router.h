// SPDX-License-Identifier: Apache-2.0
// engine/rdma/completion_router.h: one completion queue for the RDMA lanes of one class. Each
// completion goes to its lane, and each receive goes back to the Poller that posted it.
//
// On an RDMA device, the pollers of all domains of a worker share one router for each class. So a
// worker polls and arms two completion queues of the device, however many peers it has. The rest of
// a poll still grows with the number of peers: poll() visits each poller and each of its lanes, to
// see whether the lane has work. If the fabric cannot share completion queues
// (FabricLimits::shares_completions), each domain has its own routers.
//
// Bounds   kPollersMax pollers. The completion queue has an entry for every posted receive and for
//          every send entry of every lane: it grows in powers of two until the fabric's limit, and
//          further lanes are refused.
// Thread   the thread of all lanes of the router.
// Errors   create() and reserve() return an Error.
#pragma once

#include <array>
#include <memory>
#include <unordered_map>
#include <vector>

#include "engine/fabric/fabric.h"

namespace hat::engine {

class Poller;
class RdmaLane;

class CompletionRouter {
 public:
  static constexpr uint32_t kPollersMax = 128;
  static constexpr uint32_t kCompletionsPerPoll = 32;

  // Creates a router whose completion queue begins with `entries` entries, or with the fabric's
  // limit if that is lower. `fabric` must outlive the router.
  static Result<std::unique_ptr<CompletionRouter>> create(Fabric& fabric, uint32_t entries);

  // Handles completions, polls the legs whose messages arrive without a completion, and posts the
  // requests that result. Returns the number of events that it found. Makes no system call.
  size_t poll();

  // Arms the completion queue, so that the next completion makes event_fd() readable, and polls
  // once more. Returns false if a poll found something; the caller must then not sleep. Call this
  // before sleeping on event_fd(). For a leg that polls by READs, the completion of a READ ends the
  // sleep.
  bool prepare_to_sleep();
  void take_events() { queue_->take_events(); }
  int event_fd() const { return queue_->event_fd(); }

  // Handles a fabric event, such as the failure of a queue pair. Call this for each event that
  // Fabric::next_event() returns.
  void on_event(const FabricEvent& event);

  bool empty() const { return by_number_.empty(); }  // true if the router has no lanes

  // --- For pollers ---
  CompletionQueue& queue() { return *queue_; }
  // Adds a poller, and returns its number. No two pollers of a router have the same number, except
  // after 2^31 pollers. There must be fewer than kPollersMax pollers.
  uint32_t add(Poller& poller);
  void remove(Poller& poller);
  // Counts `entries` more completions that can be outstanding at the same time, and makes space
  // for them in the completion queue.
  Result<void> reserve(uint32_t entries);
  void release(uint32_t entries);
  void add(RdmaLane& lane);
  void remove(RdmaLane& lane);
  // Returns the id of a receive, from the number of its poller and its number in that poller.
  static uint64_t receive_id(uint32_t poller, uint32_t receive) {
    return kReceiveBit | uint64_t{poller} << 32 | receive;
  }

 private:
  explicit CompletionRouter(const Fabric& fabric) : fabric_(fabric) {}
  RdmaLane* find(uint32_t queue_pair);
  Poller* poller_of(uint64_t receive_id) const;
  void dispatch(const Completion& done);

  static constexpr uint64_t kReceiveBit = uint64_t{1} << 63;
  static constexpr uint32_t kPollerNumbers = uint32_t{1} << 31;

  const Fabric& fabric_;
  std::unique_ptr<CompletionQueue> queue_;
  uint32_t entries_ = 0;   // of queue_
  uint32_t reserved_ = 0;  // at most entries_
  std::vector<Poller*> pollers_;
  std::array<Poller*, kPollersMax> by_slot_{};  // the index is a poller's number % kPollersMax
  uint32_t last_poller_ = 0;
  std::unordered_map<uint32_t, RdmaLane*> by_number_;
  RdmaLane* last_ = nullptr;  // the lane of the last completion, for find()
  // The completions of one poll. A local array would be cleared in every poll.
  std::array<Completion, kCompletionsPerPoll> done_;
};

}  // namespace hat::engine
