// SPDX-License-Identifier: Apache-2.0
// engine/rdma/completion_router_test.cc: tests to which lane and to which poller a CompletionRouter
// passes the completion of a receive. The test writes the completions, so that it can have those
// that a device returns late, or after it has given the number of a queue pair to another one.
#include "engine/rdma/completion_router.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "engine/fabric/fake_fabric.h"
#include "engine/rdma/poller.h"
#include "engine/rdma/rdma_lane.h"

namespace hat::engine {
namespace {

// Returns the completions that the test has added to `next`.
class ScriptedQueue final : public CompletionQueue {
 public:
  explicit ScriptedQueue(std::unique_ptr<CompletionQueue> below) : below_(std::move(below)) {}
  size_t poll(std::span<Completion> into) override {
    const size_t count = std::min(into.size(), next.size());
    std::copy_n(next.begin(), count, into.begin());
    next.erase(next.begin(), next.begin() + static_cast<ptrdiff_t>(count));
    return count;
  }
  void arm(bool solicited_only) override { below_->arm(solicited_only); }
  int event_fd() const override { return below_->event_fd(); }
  void take_events() override { below_->take_events(); }
  Result<void> resize(uint32_t entries) override { return below_->resize(entries); }
  CompletionQueue& below() { return *below_; }

  std::vector<Completion> next;

 private:
  const std::unique_ptr<CompletionQueue> below_;
};

// A loop fabric whose completion queues are scripted.
class ScriptedFabric final : public ForwardingFabric {
 public:
  Result<std::unique_ptr<CompletionQueue>> create_completion_queue(uint32_t entries) override {
    HAT_TRY(auto queue, below_->create_completion_queue(entries));
    return std::make_unique<ScriptedQueue>(std::move(queue));
  }
  Result<std::unique_ptr<QueuePair>> create_queue_pair(const QueuePairOptions& options) override {
    return below_->create_queue_pair(
        options.with(static_cast<ScriptedQueue&>(options.send_cq).below(),
                     static_cast<ScriptedQueue&>(options.recv_cq).below(), options.srq));
  }
};

// One link's lane, with an arena and a poller of its own.
struct OneLane final : LaneEvents {
  OneLane(Fabric& fabric, std::shared_ptr<CompletionRouter> router)
      : arena(*Arena::create(fabric, {.bytes = {1 << 20, 1 << 20, 1 << 20}})),
        poller(*Poller::create(fabric, *arena, std::move(router))),
        lane(*RdmaLane::create(*poller, kOptions, *this)) {}
  void on_frame(const FrameHeader&, Bytes) override {}
  void on_down(const std::string& reason) override { down.push_back(reason); }

  static constexpr RdmaLaneOptions kOptions{.out = {.slots = 4, .slot_bytes = 64},
                                            .in = {.slots = 4, .slot_bytes = 64}};
  std::vector<std::string> down;
  std::unique_ptr<Arena> arena;
  std::unique_ptr<Poller> poller;
  std::unique_ptr<RdmaLane> lane;
};

// Two links whose lanes share a router, as all links of a worker do on an RDMA device.
class CompletionRouters : public testing::Test {
 protected:
  // Handles the completion of a SEND of no bytes, which no lane expects, so that a lane that gets
  // it ends. `poller` and `receive` are the numbers of the receive.
  void complete(uint32_t poller, uint32_t receive, uint32_t queue_pair) {
    static_cast<ScriptedQueue&>(router_->queue())
        .next.push_back({.id = CompletionRouter::receive_id(poller, receive),
                         .opcode = Opcode::kReceive,
                         .queue_pair = queue_pair});
    router_->poll();
  }

  ScriptedFabric fabric_;
  std::shared_ptr<CompletionRouter> router_ = *CompletionRouter::create(fabric_, 1024);
  std::optional<OneLane> one_{std::in_place, fabric_, router_};
  OneLane other_{fabric_, router_};
};

TEST_F(CompletionRouters, PassAReceiveToItsLane) {
  complete(one_->poller->number(), 0, one_->lane->number());
  ASSERT_EQ(one_->down.size(), 1u);
  EXPECT_NE(one_->down[0].find("a SEND is shorter than its envelope"), std::string::npos);
  EXPECT_TRUE(other_.down.empty());
}

TEST_F(CompletionRouters, PassNoReceiveToALaneOfAnotherPoller) {
  complete(one_->poller->number(), 0, other_.lane->number());
  EXPECT_TRUE(other_.down.empty()) << "the number of its queue pair was another lane's before";
  EXPECT_TRUE(one_->down.empty());
  EXPECT_EQ(one_->poller->receives_in_use(), 0u) << "the receive is back at its poller";
  EXPECT_EQ(other_.poller->receives_in_use(), 0u);
}

TEST_F(CompletionRouters, ReturnTheReceiveOfAnEndedLaneToItsPoller) {
  const uint32_t number = one_->lane->number();
  one_->lane.reset();
  complete(one_->poller->number(), 0, number);
  complete(one_->poller->number(), 1, 0);  // as the fabric reports a receive of a queue pair
                                           // that was destroyed before poll()
  EXPECT_EQ(one_->poller->receives_in_use(), 0u);
  EXPECT_TRUE(other_.down.empty());
}

TEST_F(CompletionRouters, EndTheLanesWhoseReceiveQueueHasFailed) {
  router_->on_event({.kind = FabricEvent::Kind::kReceiveQueueError,
                     .receive_queue = &one_->poller->receive_queue(),
                     .detail = "a test"});
  EXPECT_EQ(one_->down, std::vector<std::string>{"the receive queue failed: a test"});
  EXPECT_TRUE(other_.down.empty());
  const auto another = RdmaLane::create(*one_->poller, OneLane::kOptions, *one_);
  ASSERT_FALSE(another);
  EXPECT_EQ(another.error().message,
            "RDMA lanes: the receive queue of the link's lanes has failed");
  EXPECT_TRUE(RdmaLane::create(*other_.poller, OneLane::kOptions, other_));
}

TEST_F(CompletionRouters, ForgetTheReceivesOfAnEndedPoller) {
  const uint32_t ended = one_->poller->number();
  one_.reset();
  complete(ended, 0, other_.lane->number());
  EXPECT_TRUE(other_.down.empty());
  EXPECT_EQ(other_.poller->receives_in_use(), 0u);
  // A poller that has the slot of the ended poller has another number.
  std::unique_ptr<Poller> next;
  do {
    next.reset();
    next = *Poller::create(fabric_, *other_.arena, router_, {.receives_max = 64});
  } while (next->number() % CompletionRouter::kPollersMax != ended % CompletionRouter::kPollersMax);
  complete(ended, 0, other_.lane->number());
  EXPECT_EQ(next->receives_in_use(), 0u);
  EXPECT_TRUE(other_.down.empty());
}

}  // namespace
}  // namespace hat::engine
