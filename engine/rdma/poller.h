// SPDX-License-Identifier: Apache-2.0
// engine/rdma/poller.h: drives the RDMA lanes of one class in one domain. The lanes share the
// domain's memory and the poller's receives: a shared receive queue that no lane of another domain
// uses. Their completions come from a CompletionRouter, which other pollers can share.
//
// Lanes that must not slow each other down have separate pollers and routers (HatRPC 4.1,
// "optimization isolation").
//
// Bounds   PollerOptions. Each new lane adds the receives that it needs; the receives stay when the
//          lane ends, and later lanes use them.
// Thread   one thread, which is also the thread of all lanes of the poller.
// Errors   create() returns an Error; a lane that fails calls LaneEvents::on_down().
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/check.h"
#include "engine/fabric/fabric.h"
#include "engine/memory/arena.h"
#include "engine/rdma/completion_router.h"
#include "engine/rdma/wire.h"

namespace hat::engine {

class RdmaLane;

struct PollerOptions {
  uint32_t completions = 16384;  // the entries with which a router's completion queue begins
  uint32_t receives_max = 8192;
};

class Poller {
 public:
  static constexpr uint32_t kReceivesPerBlock = 63;  // a little less than 256 KiB of memory
  // The poller posts used receives again in batches of kPostBatch. So that the other sides of its
  // lanes never lack a posted receive, the poller has kSlack more receives than they can use.
  static constexpr uint32_t kPostBatch = 16;
  static constexpr uint32_t kSlack = kPostBatch + CompletionRouter::kCompletionsPerPoll;

  // Creates a poller; `fabric` and `arena` must outlive it. `router` must have fewer than
  // CompletionRouter::kPollersMax pollers. `entries` counts the entries of the completion queue
  // that the poller's receives and lanes need.
  static Result<std::unique_ptr<Poller>> create(Fabric& fabric, Arena& arena,
                                                std::shared_ptr<CompletionRouter> router,
                                                const PollerOptions& options = {},
                                                RdmaBudget::Charge entries = RdmaBudget::Charge());
  // Creates a poller with a router of its own.
  static Result<std::unique_ptr<Poller>> create(Fabric& fabric, Arena& arena,
                                                const PollerOptions& options = {});
  ~Poller();

  // Calls the router's function, and so handles all of its pollers, as do the next functions.
  size_t poll() { return router_->poll(); }
  bool prepare_to_sleep() { return router_->prepare_to_sleep(); }
  void take_events() { router_->take_events(); }
  int event_fd() const { return router_->event_fd(); }
  void on_event(const FabricEvent& event) { router_->on_event(event); }

  // Returns how many receives hold messages: receives that are not posted and do not wait to be
  // posted.
  size_t receives_in_use() const {
    return blocks_.size() * kReceivesPerBlock - posted_ - to_post_.size();
  }
  bool empty() const { return lanes_.empty(); }  // true if the poller has no lanes
  bool settled() const { return retired_.empty(); }
  bool failed() const { return failed_; }  // true if the receive queue has failed
  Fabric& fabric() { return fabric_; }
  Arena& arena() { return arena_; }

  // --- For lanes ---
  CompletionQueue& completion_queue() { return router_->queue(); }
  ReceiveQueue& receive_queue() { return *receives_; }
  const ReceiveQueue& receive_queue() const { return *receives_; }
  Result<void> add(RdmaLane& lane);
  void remove(RdmaLane& lane);
  // Takes ownership of a lane and ends it: the lane calls its LaneEvents no more. Destroys the lane
  // and frees its memory once the other side can no longer access that memory
  // (QueuePair::settled()).
  void retire(std::unique_ptr<RdmaLane> lane);
  void forget_settled();  // destroys ended lanes whose memory the other side can no longer access
  void give_back(uint32_t receive) {
    DCHECK_NE(receives_in_use(), 0u) << "a receive was given back twice";
    to_post_.push_back(receive);
  }

  // --- For the router ---
  uint32_t number() const { return number_; }  // the number that CompletionRouter::add() returned
  // Handles the completion of a receive. `lane` is null if the lane has ended.
  void on_receive(RdmaLane* lane, const Completion& done);
  // Ensures that finish_poll() calls after_poll() of the lane.
  void touch(RdmaLane* lane);
  // Does what remains after the completions of a poll: polls the legs whose messages arrive without
  // a completion, posts the used receives again, and posts the requests of the lanes. Returns the
  // number of events that it found.
  size_t finish_poll();
  bool wants_send_completions() const;
  // Takes all lanes of the poller down, because their receive queue has failed.
  void on_receive_queue_error(const std::string& detail);

 private:
  Poller(Fabric& fabric, Arena& arena, std::shared_ptr<CompletionRouter> router,
         const PollerOptions& options, RdmaBudget::Charge entries);
  // Reserves entries of the completion queue, which count against the budget.
  Result<void> reserve(uint32_t entries);
  void release(uint32_t entries);
  Result<void> add_receives(uint32_t blocks);
  void post_receives();
  std::byte* at(uint32_t receive);

  Fabric& fabric_;
  Arena& arena_;
  const PollerOptions options_;
  const std::shared_ptr<CompletionRouter> router_;
  RdmaBudget::Charge entries_;
  const uint32_t number_;
  std::unique_ptr<ReceiveQueue> receives_;
  std::vector<Buffer> blocks_;  // each has kReceivesPerBlock receives
  std::vector<uint32_t> to_post_;
  uint32_t receives_needed_ = 0;
  uint32_t posted_ = 0;
  bool failed_ = false;
  std::vector<RdmaLane*> lanes_;
  std::vector<RdmaLane*> touched_;  // lanes whose after_poll() must be called in this poll
  // The ended lanes whose memory the other side can still access.
  std::vector<std::unique_ptr<RdmaLane>> retired_;
};

}  // namespace hat::engine
