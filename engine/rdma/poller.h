// SPDX-License-Identifier: Apache-2.0
// engine/rdma/poller.h: the completion queue, the receives and the memory that the RDMA lanes of
// one class share in one domain, and the poll function that drives all of these lanes.
//
// Lanes that must not slow each other down (HatRPC 4.1, optimization isolation) have pollers of
// their own.
//
// Bounds   PollerOptions; each new lane adds the receives that it needs, and they stay for later
//          lanes.
// Thread   one.
// Errors   create() returns a sentence; a lane that fails calls its own events.
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
  static constexpr uint32_t kReceivesPerBlock = 63;  // a little less than 256 KiB
  // Used receives are posted again in batches, so the poller has kSlack more receives than the
  // other sides of its lanes may use.
  static constexpr uint32_t kPostBatch = 16;
  static constexpr uint32_t kCompletionsPerLook = 32;
  static constexpr uint32_t kSlack = kPostBatch + kCompletionsPerLook;

  // Creates a poller; `fabric` and `arena` must outlive it.
  static Result<std::unique_ptr<Poller>> create(Fabric& fabric, Arena& arena,
                                                const PollerOptions& options = {});
  ~Poller();

  // Takes completions, polls the legs whose messages arrive without a completion, and posts the
  // requests that result. Returns how many events it found; 0 means that nothing has happened.
  // Makes no system call.
  size_t poll();

  // Arms the completion queue, so that the next completion makes event_fd() readable, and polls
  // once more. Call it before sleeping on event_fd(), and do not sleep if it returns false: then it
  // found something. A leg that polls by READs is woken by the completions of its READs.
  bool prepare_to_sleep();
  void take_events() { completions_->take_events(); }
  int event_fd() const { return completions_->event_fd(); }

  // Handles an event that is not a completion. Call it for each event of Fabric::next_event().
  void on_event(const FabricEvent& event);

  // Returns how many receives hold messages: they are neither posted nor about to be.
  size_t receives_in_use() const {
    return blocks_.size() * kReceivesPerBlock - posted_ - to_post_.size();
  }
  bool empty() const { return lanes_.empty(); }  // has no lanes
  bool settled() const { return retired_.empty(); }
  Fabric& fabric() { return fabric_; }
  Arena& arena() { return arena_; }

  // --- For lanes ---
  CompletionQueue& completion_queue() { return *completions_; }
  ReceiveQueue& receive_queue() { return *receives_; }
  Result<void> add(RdmaLane& lane);
  void remove(RdmaLane& lane);
  // Ends a lane, which calls its events no more. Keeps the lane and its memory until the other side
  // no longer accesses that memory (QueuePair::settled()).
  void retire(std::unique_ptr<RdmaLane> lane);
  void forget_settled();  // destroys the retired lanes that are settled
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
  std::vector<Buffer> blocks_;  // of kReceivesPerBlock receives each
  std::vector<uint32_t> to_post_;
  uint32_t receives_needed_ = 0;
  uint32_t posted_ = 0;
  uint32_t send_entries_ = 0;
  std::unordered_map<uint32_t, RdmaLane*> by_number_;
  std::vector<RdmaLane*> lanes_;
  RdmaLane* last_ = nullptr;        // the lane that had a completion last
  std::vector<RdmaLane*> touched_;  // lanes whose after_look() is due
  // Holds the completions of one poll; a member, so that no poll has to clear it.
  std::array<Completion, kCompletionsPerLook> done_;
  std::vector<std::unique_ptr<RdmaLane>> retired_;  // and not settled yet
};

}  // namespace hat::engine
