// SPDX-License-Identifier: Apache-2.0
// engine/rdma/poller.h: the completion queue, the receives and the memory that the RDMA lanes of
// one class share in one domain, and the poll function that drives all of these lanes.
//
// Lanes that must not slow each other down have separate pollers (HatRPC 4.1, "optimization
// isolation").
//
// Bounds   PollerOptions. Each new lane adds the receives that it needs; the receives stay when the
//          lane ends, and later lanes use them.
// Thread   one thread, which is also the thread of all lanes of the poller.
// Errors   create() returns an Error; a lane that fails calls LaneEvents::on_down().
#pragma once

#include <array>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/check.h"
#include "engine/fabric/fabric.h"
#include "engine/memory/arena.h"
#include "engine/rdma/wire.h"

namespace hat::engine {

class RdmaLane;

struct PollerOptions {
  uint32_t completions = 16384;  // at least receives_max plus the send entries of all lanes
  uint32_t receives_max = 8192;
};

class Poller {
 public:
  static constexpr uint32_t kReceivesPerBlock = 63;  // a little less than 256 KiB of memory
  // The poller posts used receives again in batches of kPostBatch. So that the other sides of its
  // lanes never lack a posted receive, the poller has kSlack more receives than they can use.
  static constexpr uint32_t kPostBatch = 16;
  static constexpr uint32_t kCompletionsPerPoll = 32;
  static constexpr uint32_t kSlack = kPostBatch + kCompletionsPerPoll;

  // Creates a poller; `fabric` and `arena` must outlive it.
  static Result<std::unique_ptr<Poller>> create(Fabric& fabric, Arena& arena,
                                                const PollerOptions& options = {});
  ~Poller();

  // Handles completions, polls the legs whose messages arrive without a completion, and posts the
  // requests that result. Returns the number of events that it found. Makes no system call.
  size_t poll();

  // Arms the completion queue, so that the next completion makes event_fd() readable, and polls
  // once more. Returns false if a poll found something; the caller must then not sleep. Call this
  // before sleeping on event_fd(). For a leg that polls by READs, the completion of a READ ends the
  // sleep.
  bool prepare_to_sleep();
  void take_events() { completions_->take_events(); }
  int event_fd() const { return completions_->event_fd(); }

  // Handles a fabric event, such as the failure of a queue pair. Call this for each event that
  // Fabric::next_event() returns.
  void on_event(const FabricEvent& event);

  // Returns how many receives hold messages: receives that are not posted and do not wait to be
  // posted.
  size_t receives_in_use() const {
    return blocks_.size() * kReceivesPerBlock - posted_ - to_post_.size();
  }
  bool empty() const { return lanes_.empty(); }  // true if the poller has no lanes
  bool settled() const { return retired_.empty(); }
  Fabric& fabric() { return fabric_; }
  Arena& arena() { return arena_; }

  // --- For lanes ---
  CompletionQueue& completion_queue() { return *completions_; }
  ReceiveQueue& receive_queue() { return *receives_; }
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

 private:
  Poller(Fabric& fabric, Arena& arena, const PollerOptions& options);
  Result<void> add_receives(uint32_t count);
  void post_receives();
  RdmaLane* find(uint32_t queue_pair);
  void dispatch(const Completion& done);
  void touch(RdmaLane* lane);
  std::byte* at(uint32_t receive);

  static constexpr uint64_t kReceiveId = uint64_t{1} << 63;

  Fabric& fabric_;
  Arena& arena_;
  const PollerOptions options_;
  std::unique_ptr<CompletionQueue> completions_;
  std::unique_ptr<ReceiveQueue> receives_;
  std::vector<Buffer> blocks_;  // each has kReceivesPerBlock receives
  std::vector<uint32_t> to_post_;
  uint32_t receives_needed_ = 0;
  uint32_t posted_ = 0;
  uint32_t send_entries_ = 0;
  std::unordered_map<uint32_t, RdmaLane*> by_number_;
  std::vector<RdmaLane*> lanes_;
  RdmaLane* last_ = nullptr;        // the lane of the last completion, for find()
  std::vector<RdmaLane*> touched_;  // lanes whose after_poll() must be called in this poll
  // The completions of one poll. A local array would be cleared in every poll.
  std::array<Completion, kCompletionsPerPoll> done_;
  // The ended lanes whose memory the other side can still access.
  std::vector<std::unique_ptr<RdmaLane>> retired_;
};

}  // namespace hat::engine
