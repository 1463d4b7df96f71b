// SPDX-License-Identifier: Apache-2.0
// engine/rdma/poller.h: the completion queue, the receives and the memory that the RDMA lanes of
// one worker and one class share, and the look that drives them all.
//
// Lanes that must not slow each other (HatRPC 4.1, optimization isolation) have pollers of their
// own.
//
// Bounds   PollerOptions; the receives grow by what each lane needs and are kept for later ones.
// Thread   one.
// Errors   create() in words; a lane that fails tells its own events.
#pragma once

#include <array>
#include <memory>
#include <unordered_map>
#include <vector>

#include "engine/fabric/fabric.h"
#include "engine/memory/arena.h"
#include "engine/rdma/wire.h"

namespace hat::engine {

class RdmaLane;

struct PollerOptions {
  uint32_t completions = 16384;  // receives_max, and every lane's send entries
  uint32_t receives_max = 8192;
};

class Poller {
 public:
  static constexpr uint32_t kReceivesPerBlock = 63;  // a little less than 256 KiB
  // Receives are posted again in batches: so many more are there than the lanes' peers may use.
  static constexpr uint32_t kPostBatch = 16;
  static constexpr uint32_t kCompletionsPerLook = 32;
  static constexpr uint32_t kSlack = kPostBatch + kCompletionsPerLook;

  // `fabric` and `arena` outlive it.
  static Result<std::unique_ptr<Poller>> create(Fabric& fabric, Arena& arena,
                                                const PollerOptions& options = {});
  ~Poller();

  // Takes completions, looks at what nobody announces, and posts what came of it. How much was
  // found: 0 means that nothing has happened. No system call.
  size_t look();

  // Before sleeping on event_fd(): makes the next completion wake, and looks once more. False:
  // something was found; do not sleep. What a leg looks for by READs wakes by their completions.
  bool prepare_to_sleep();
  void take_events() { completions_->take_events(); }
  int event_fd() const { return completions_->event_fd(); }

  // What the fabric tells beside completions: call it for each of Fabric::next_event().
  void on_event(const FabricEvent& event);

  // Of all receives, those that are neither posted nor about to be: messages lie in them.
  size_t receives_in_use() const {
    return blocks_.size() * kReceivesPerBlock - posted_ - to_post_.size();
  }
  bool empty() const { return lanes_.empty(); }  // no lane is there
  bool settled() const { return retired_.empty(); }
  Fabric& fabric() { return fabric_; }
  Arena& arena() { return arena_; }

  // --- For lanes ---
  CompletionQueue& completion_queue() { return *completions_; }
  ReceiveQueue& receive_queue() { return *receives_; }
  Result<void> add(RdmaLane& lane);
  void remove(RdmaLane& lane);
  // The end of a lane whose events are told nothing more: its memory is put aside while the other
  // side has not let go of it (QueuePair::settled()).
  void retire(std::unique_ptr<RdmaLane> lane);
  void forget_settled();  // of those that were retired
  void give_back(uint32_t receive) { to_post_.push_back(receive); }

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
  RdmaLane* last_ = nullptr;  // that a completion was for
  std::vector<RdmaLane*> touched_;
  std::array<Completion, kCompletionsPerLook> done_;  // of the last poll: not cleared at every look
  std::vector<std::unique_ptr<RdmaLane>> retired_;    // and not settled
};

}  // namespace hat::engine
