// SPDX-License-Identifier: Apache-2.0
#include "engine/fabric/faulty/faulty_fabric.h"

#include <algorithm>

#include "engine/fabric/conformance.h"
#include "engine/fabric/loop/loop_fabric.h"

namespace hat::engine {
namespace {

using namespace std::chrono_literals;

Faults faults;  // the faults of the fabrics that open_faulty() opens

Result<std::unique_ptr<Fabric>> open_faulty() {
  HAT_TRY(auto below, open_loop_fabric());
  return make_faulty(std::move(below), faults);
}

Result<std::unique_ptr<Fabric>> open_without_faults() {
  faults = {};
  return open_faulty();
}

// Opens a fabric with faults that adds its faults to another such fabric.
Result<std::unique_ptr<Fabric>> open_faulty_twice() {
  HAT_TRY(auto below, open_faulty());
  return make_faulty(std::move(below), faults);
}

Result<std::unique_ptr<Fabric>> open_late() {
  faults = {.delay_max = 100us};
  return open_faulty();
}

void connect(FabricSide& a, FabricSide& b) {
  for (FabricSide* side : {&a, &b}) side->qp = side->make_queue_pair(side->options());
  EXPECT_TRUE(a.qp->connect(b.qp->address()));
  EXPECT_TRUE(b.qp->connect(a.qp->address()));
}

void send(FabricSide& side, uint64_t count) {
  const Segment from = side.at(0, 8);
  for (uint64_t i = 0; i < count; ++i) {
    const WorkRequest work{.id = i, .segments = {&from, 1}};
    EXPECT_EQ(side.qp->post({&work, 1}), 1u);
  }
}

// Polls both sides until `side` has `count` completions.
void poll_for(FabricSide& side, size_t count, FabricSide& other) {
  const auto end = std::chrono::steady_clock::now() + 10s;
  while (side.completions.size() < count && std::chrono::steady_clock::now() < end) {
    side.iterate();
    other.iterate();
  }
  EXPECT_EQ(side.completions.size(), count);
}

// Two connected hosts. The constructor posts kMessages signaled SENDs from `a` to `b`.
struct Talk {
  Talk() : a(&open_faulty, {}), b(&open_without_faults, {}) {
    connect(a, b);
    for (uint64_t i = 0; i < kMessages; ++i) b.receive(i, 0, 8);
    const Segment from = a.at(0, 8);
    for (uint64_t i = 0; i < kMessages; ++i) {
      const WorkRequest send{.id = i, .segments = {&from, 1}};
      EXPECT_EQ(a.qp->post({&send, 1}), 1u);
      iterate();
    }
  }
  void iterate() {
    for (FabricSide* side : {&a, &b}) {
      while (side->fabric->next_event()) {
      }
      std::array<Completion, 16> some;
      const size_t count = side->cq->poll(some);
      side->completions.insert(side->completions.end(), some.begin(), some.begin() + count);
    }
  }
  void turn_for(std::chrono::milliseconds time) {
    const auto end = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < end) iterate();
  }

  static constexpr uint64_t kMessages = 64;
  FabricSide a;
  FabricSide b;
};

TEST(FaultyFabric, CutsAQueuePairOnceAndTellsOfEveryRequest) {
  size_t arrived_least = SIZE_MAX;
  size_t arrived_most = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    faults = {.seed = seed, .cut_within = Talk::kMessages};
    Talk talk;
    talk.turn_for(20ms);
    ASSERT_EQ(talk.a.completions.size(), Talk::kMessages) << "seed " << seed;
    const auto failed = [](const Completion& c) { return c.status == Status::kRetryExceeded; };
    EXPECT_EQ(std::ranges::count_if(talk.a.completions, failed), 1) << "seed " << seed;
    for (uint64_t i = 0; i < Talk::kMessages; ++i) EXPECT_EQ(talk.a.completions[i].id, i);
    EXPECT_EQ(talk.a.qp->state(), QueuePairState::kError);
    EXPECT_EQ(talk.b.qp->state(), QueuePairState::kError);
    arrived_least = std::min(arrived_least, talk.b.completions.size());
    arrived_most = std::max(arrived_most, talk.b.completions.size());
  }
  EXPECT_LT(arrived_least, arrived_most) << "the seed chooses where";
}

TEST(FaultyFabric, FallsSilentUntilItIsFailed) {
  faults = {.seed = 5, .silent_within = 32};
  Talk talk;
  talk.turn_for(20ms);
  EXPECT_LT(talk.b.completions.size(), Talk::kMessages);
  EXPECT_LT(talk.a.completions.size(), Talk::kMessages);
  EXPECT_EQ(talk.a.qp->state(), QueuePairState::kConnected);
  talk.a.qp->fail();
  talk.turn_for(5ms);
  EXPECT_EQ(talk.a.qp->state(), QueuePairState::kError);
  EXPECT_EQ(talk.a.completions.back().id, Talk::kMessages - 1);
  EXPECT_EQ(talk.a.completions.back().status, Status::kFlushed);
}

TEST(FaultyFabric, ReturnsTheLateReceivesOfADestroyedQueuePair) {
  constexpr uint64_t kMessages = 64;
  for (const auto open : {&open_faulty, &open_faulty_twice}) {
    FabricSide a(&open_without_faults, {});
    faults = {.delay_max = 500ms};
    FabricSide b(open, {});
    connect(a, b);
    for (uint64_t i = 0; i < kMessages; ++i) b.receive(i, 0, 8);
    send(a, kMessages);
    poll_for(a, kMessages, b);  // the sends complete when `b` has consumed its receives
    const size_t before = b.completions.size();
    ASSERT_LT(before, kMessages) << "some completions are late";
    b.qp.reset();
    poll_for(b, kMessages, a);
    for (uint64_t i = 0; i < b.completions.size(); ++i) {
      EXPECT_EQ(b.completions[i].id, i);
      EXPECT_EQ(b.completions[i].queue_pair == 0, i >= before);
    }
  }
}

TEST(FaultyFabric, ReturnsTheReceivesOfASilentQueuePairWhenItEnds) {
  constexpr uint64_t kMessages = 8;
  for (const bool fails : {true, false}) {
    FabricSide a(&open_without_faults, {});
    faults = {.silent_within = 1};
    FabricSide b(&open_faulty, {});
    connect(a, b);
    const uint32_t number = b.qp->number();
    a.receive(0, 0, 8);
    send(b, 1);
    for (uint64_t i = 0; i < kMessages; ++i) b.receive(i, 0, 8);
    send(a, kMessages);
    poll_for(a, kMessages + 1, b);  // the sends complete when `b` has consumed its receives
    EXPECT_TRUE(b.completions.empty()) << "the queue pair is silent";
    if (fails) {
      b.qp->fail();
    } else {
      b.qp.reset();
    }
    const auto received = [](const Completion& c) { return is_receive(c.opcode); };
    b.iterate();
    EXPECT_EQ(std::ranges::count_if(b.completions, received), kMessages);
    for (const Completion& done : b.completions) {
      if (!received(done)) continue;
      EXPECT_EQ(done.status, Status::kFlushed);
      EXPECT_EQ(done.queue_pair, fails ? number : 0);
    }
  }
}

TEST(FaultyFabric, RefusesNowAndThen) {
  faults = {.seed = 3, .refused_percent = 50};
  const auto fabric = *open_faulty();
  int refused = 0;
  for (int i = 0; i < 100; ++i) refused += fabric->create_receive_queue(16) ? 0 : 1;
  EXPECT_GT(refused, 25);
  EXPECT_LT(refused, 75);
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(WithoutFaults, FabricConformance, testing::Values(&open_without_faults));
INSTANTIATE_TEST_SUITE_P(Late, FabricConformance, testing::Values(&open_late));

}  // namespace hat::engine
