// SPDX-License-Identifier: Apache-2.0
// engine/fabric/conformance_errors.cc: tests for requests that a fabric refuses, and for the
// effects of an error.
#include <gmock/gmock.h>

#include <algorithm>
#include <thread>

#include "engine/fabric/conformance.h"

namespace hat::engine {
namespace {

using namespace std::chrono_literals;
using testing::AnyOf;
using testing::ElementsAre;

}  // namespace

// --- Requests that are refused ---

TEST_P(FabricConformance, WriteWithAnUnknownRkeyFailsAndTouchesNothing) {
  connect();
  a_->fill(0, "attack");
  b_->fill(100, "intact");
  const Segment from = a_->at(0, 6);
  EXPECT_EQ(status_of_one({.opcode = Opcode::kWrite,
                           .segments = {&from, 1},
                           .remote_address = b_->region->address() + 100,
                           .rkey = b_->region->rkey() ^ 0x5a5a00}),
            Status::kRemoteAccess);
  EXPECT_EQ(b_->read(100, 6), "intact");
}

TEST_P(FabricConformance, RequestsBeyondTheRegionFail) {
  struct Row {
    uint64_t offset;
    uint32_t bytes;
  };
  for (const Row row : {Row{FabricSide::kMemoryBytes, 1}, Row{FabricSide::kMemoryBytes - 1, 2},
                        Row{static_cast<uint64_t>(-8), 8}, Row{static_cast<uint64_t>(-8), 16}}) {
    for (const Opcode opcode : {Opcode::kWrite, Opcode::kRead, Opcode::kWriteImm}) {
      connect();
      b_->receive(1, 0, 0);  // for kWriteImm: some devices check first whether a receive is posted
      const Segment local = a_->at(0, row.bytes);
      EXPECT_EQ(status_of_one({.opcode = opcode,
                               .segments = {&local, 1},
                               .remote_address = b_->region->address() + row.offset,
                               .rkey = b_->region->rkey()}),
                Status::kRemoteAccess)
          << row.offset << ", " << row.bytes;
    }
  }
}

TEST_P(FabricConformance, RequestsWithoutTheRegionsRightFail) {
  struct Row {
    RemoteAccess access;
    Opcode opcode;
  };
  for (const Row& row : {Row{{.read = true}, Opcode::kWrite}, Row{{.write = true}, Opcode::kRead},
                         Row{{.write = true, .read = true}, Opcode::kFetchAdd},
                         Row{{.write = true, .read = true}, Opcode::kCompareSwap}}) {
    connect(row.access);
    b_->fill(0, "12345678");
    const Segment local = a_->at(0, 8);
    EXPECT_EQ(status_of_one({.opcode = row.opcode,
                             .segments = {&local, 1},
                             .remote_address = b_->region->address(),
                             .rkey = b_->region->rkey(),
                             .compare_or_add = 1}),
              Status::kRemoteAccess);
    EXPECT_EQ(b_->read(0, 8), "12345678");
  }
}

TEST_P(FabricConformance, RequestsWithoutTheQueuePairsRightFail) {
  using Change = void (*)(QueuePairOptions&);
  constexpr Change kNoWrite = [](QueuePairOptions& options) { options.access.write = false; };
  constexpr Change kNoRead = [](QueuePairOptions& options) { options.access.read = false; };
  constexpr Change kNoAtomic = [](QueuePairOptions& options) { options.access.atomic = false; };
  for (const auto& [opcode, change] : {std::pair{Opcode::kWrite, kNoWrite},
                                       {Opcode::kRead, kNoRead},
                                       {Opcode::kFetchAdd, kNoAtomic},
                                       {Opcode::kCompareSwap, kNoAtomic}}) {
    connect({.write = true, .read = true, .atomic = true}, change);
    b_->fill(0, "12345678");
    const Segment local = a_->at(0, 8);
    EXPECT_EQ(status_of_one({.opcode = opcode,
                             .segments = {&local, 1},
                             .remote_address = b_->region->address(),
                             .rkey = b_->region->rkey(),
                             .compare_or_add = 1}),
              Status::kRemoteInvalid);
    EXPECT_EQ(b_->read(0, 8), "12345678");
  }
}

TEST_P(FabricConformance, ARegionThatIsGoneIsTouchedNoMore) {
  connect();
  const uint64_t address = b_->region->address();
  const uint32_t rkey = b_->region->rkey();
  b_->region.reset();
  const Segment local = a_->at(0, 8);
  EXPECT_EQ(status_of_one({.opcode = Opcode::kWrite,
                           .segments = {&local, 1},
                           .remote_address = address,
                           .rkey = rkey}),
            Status::kRemoteAccess);
}

TEST_P(FabricConformance, OwnMemoryIsWrittenFromAndReadInto) {
  connect();
  const SharedMemory memory = *SharedMemory::create("own", FabricSide::kMemoryBytes);
  const auto own = *a_->fabric->register_own(memory.bytes());
  b_->fill(100, "there");
  const Segment into{memory.bytes().data(), 5, own->lkey()};
  for (const auto& [opcode, offset] : {std::pair{Opcode::kRead, 100u}, {Opcode::kWrite, 200u}}) {
    EXPECT_EQ(status_of_one({.opcode = opcode,
                             .segments = {&into, 1},
                             .remote_address = b_->region->address() + offset,
                             .rkey = b_->region->rkey()}),
              Status::kSuccess);
  }
  EXPECT_EQ(b_->read(200, 5), "there");
}

TEST_P(FabricConformance, OwnMemoryCanBeNamedByNobodyElse) {
  for (const bool by_lkey : {false, true}) {
    connect();
    const SharedMemory memory = *SharedMemory::create("own", FabricSide::kMemoryBytes);
    const auto own = *b_->fabric->register_own(memory.bytes());
    const Segment from = a_->at(0, 6);
    EXPECT_EQ(status_of_one({.opcode = Opcode::kWrite,
                             .segments = {&from, 1},
                             .remote_address = reinterpret_cast<uint64_t>(memory.bytes().data()),
                             .rkey = by_lkey ? own->lkey() : own->rkey()}),
              Status::kRemoteAccess);
  }
}

TEST_P(FabricConformance, SegmentsOutsideOfRegisteredMemoryFail) {
  connect();
  const Segment beyond{a_->region->bytes().data() + FabricSide::kMemoryBytes - 4, 8,
                       a_->region->lkey()};
  EXPECT_THAT(status_of_one({.opcode = Opcode::kWrite,
                             .segments = {&beyond, 1},
                             .remote_address = b_->region->address(),
                             .rkey = b_->region->rkey()}),
              AnyOf(Status::kLocalProtection, Status::kLocalOperation));
}

TEST_P(FabricConformance, AMessageLongerThanItsReceiveFailsOnBothSides) {
  connect();
  b_->receive(7, 0, 4);
  const Segment from = a_->at(0, 5);
  EXPECT_EQ(status_of_one({.segments = {&from, 1}}), Status::kRemoteOperation);
  wait_for(*b_, 1);
  EXPECT_THAT(b_->completions[0].status, AnyOf(Status::kLocalLength, Status::kLocalOperation));
  EXPECT_EQ(b_->completions[0].id, 7u);
}

TEST_P(FabricConformance, AfterAFailureAllLaterRequestsOfBothSidesAreFlushed) {
  connect();
  const Segment local = a_->at(0, 8);
  const WorkRequest good{.id = 1,
                         .opcode = Opcode::kWrite,
                         .segments = {&local, 1},
                         .remote_address = b_->region->address(),
                         .rkey = b_->region->rkey()};
  WorkRequest bad = good;
  bad.id = 2;
  bad.remote_address += FabricSide::kMemoryBytes;
  WorkRequest later = good;
  later.id = 3;
  const std::array chain{good, bad, later};
  ASSERT_EQ(a_->qp->post(chain), 3u);
  wait_for(*a_, 3);
  EXPECT_THAT(ids(a_->completions), ElementsAre(1, 2, 3));
  EXPECT_EQ(a_->completions[0].status, Status::kSuccess);
  EXPECT_EQ(a_->completions[1].status, Status::kRemoteAccess);
  EXPECT_EQ(a_->completions[2].status, Status::kFlushed);
  EXPECT_EQ(a_->qp->state(), QueuePairState::kError);
  ASSERT_EQ(a_->qp->post({&good, 1}), 1u);
  wait_for(*a_, 4);
  EXPECT_EQ(a_->completions[3].status, Status::kFlushed);

  const Segment theirs = b_->at(0, 8);
  const WorkRequest answer{.id = 4,
                           .opcode = Opcode::kWrite,
                           .segments = {&theirs, 1},
                           .remote_address = a_->region->address(),
                           .rkey = a_->region->rkey()};
  ASSERT_EQ(b_->qp->post({&answer, 1}), 1u);
  wait_for(*b_, 1);
  EXPECT_NE(b_->completions[0].status, Status::kSuccess);
}

TEST_P(FabricConformance, FailFlushesWhatIsOut) {
  connect();
  const Segment from = a_->at(0, 5);
  const std::array chain{WorkRequest{.id = 1, .segments = {&from, 1}},
                         WorkRequest{.id = 2, .signaled = false, .segments = {&from, 1}}};
  ASSERT_EQ(a_->qp->post(chain), 2u);  // b_ has no receive
  a_->qp->fail();
  wait_for(*a_, 2);
  EXPECT_THAT(ids(a_->completions), ElementsAre(1, 2)) << "a failure is always told";
  EXPECT_EQ(a_->completions[0].status, Status::kFlushed);
}

TEST_P(FabricConformance, AFlushedSendDeliversNothingThatWasWrittenLater) {
  connect();
  iterate();
  b_->receive(1, 0, 16);
  a_->fill(0, "first");
  const Segment from = a_->at(0, 5);
  const WorkRequest send{.segments = {&from, 1}};
  ASSERT_EQ(a_->qp->post({&send, 1}), 1u);
  a_->qp->fail();
  wait_for(*a_, 1);
  a_->fill(0, "later");
  const auto until = std::chrono::steady_clock::now() + 10ms;
  while (std::chrono::steady_clock::now() < until) iterate();
  for (const Completion& arrived : b_->completions) {
    if (arrived.status == Status::kSuccess) {
      EXPECT_EQ(b_->read(0, 5), "first");
    }
  }
}

// --- No receive ---

TEST_P(FabricConformance, ASendWaitsForAReceive) {
  connect();
  a_->fill(0, "patient");
  const Segment from = a_->at(0, 7);
  const WorkRequest send{.id = 1, .segments = {&from, 1}};
  ASSERT_EQ(a_->qp->post({&send, 1}), 1u);
  const auto until = std::chrono::steady_clock::now() + 30ms;
  while (std::chrono::steady_clock::now() < until) iterate();
  EXPECT_TRUE(a_->completions.empty());
  b_->receive(2, 0, 16);
  wait_for(*a_, 1);
  EXPECT_EQ(a_->completions[0].status, Status::kSuccess);
  wait_for(*b_, 1);
  EXPECT_EQ(b_->read(0, 7), "patient");
}

TEST_P(FabricConformance, ASendThatFoundItsReceiveInTimeSucceedsThoughNobodyLooked) {
  connect({}, [](QueuePairOptions& options) {
    options.rnr_retries = 6;
    options.rnr_timer = 10ms;
  });
  const Segment from = a_->at(0, 7);
  const WorkRequest send{.segments = {&from, 1}};
  ASSERT_EQ(a_->qp->post({&send, 1}), 1u);
  iterate();
  iterate();
  b_->receive(2, 0, 16);
  std::array<Completion, 1> arrived;
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (b_->cq->poll(arrived) == 0) ASSERT_LT(std::chrono::steady_clock::now(), end);
  std::this_thread::sleep_for(100ms);  // longer than all retries together
  wait_for(*a_, 1);
  EXPECT_EQ(a_->completions[0].status, Status::kSuccess);
}

TEST_P(FabricConformance, ASendThatMayNotWaitForEverFails) {
  connect({}, [](QueuePairOptions& options) { options.rnr_retries = 2; });
  const Segment from = a_->at(0, 7);
  const std::array chain{WorkRequest{.id = 1, .segments = {&from, 1}},
                         WorkRequest{.id = 2, .segments = {&from, 1}}};
  ASSERT_EQ(a_->qp->post(chain), 2u);
  wait_for(*a_, 2);
  EXPECT_EQ(a_->completions[0].status, Status::kRnrRetryExceeded);
  EXPECT_EQ(a_->completions[1].status, Status::kFlushed);
}

// --- The peer goes away ---

TEST_P(FabricConformance, RequestsToAQueuePairThatIsGoneFail) {
  connect();
  iterate();
  b_->qp.reset();
  const Segment from = a_->at(0, 8);
  EXPECT_NE(status_of_one({.segments = {&from, 1}}), Status::kSuccess);
  EXPECT_EQ(a_->qp->state(), QueuePairState::kError);
}

// Tests that the end of a queue pair loses no receive: each posted receive completes, either for
// this queue pair or for a later queue pair that uses the same receive queue.
TEST_P(FabricConformance, NoReceiveIsLostWithAQueuePair) {
  connect();
  iterate();
  for (uint64_t i = 0; i < FabricSide::kReceives; ++i) b_->receive(i, 0, 8);
  const Segment from = a_->at(0, 8);
  const std::vector<WorkRequest> chain(FabricSide::kReceives, WorkRequest{.segments = {&from, 1}});
  ASSERT_EQ(a_->qp->post({chain.data(), 10}), 10u);
  std::this_thread::sleep_for(20ms);  // a device delivers the SENDs meanwhile, without a poll
  b_->qp.reset();
  wait_for(*a_, 10);
  const size_t used = b_->completions.size();
  auto a2 = a_->make_queue_pair(a_->options());
  auto b2 = b_->make_queue_pair(b_->options());
  ASSERT_TRUE(a2->connect(b2->address()));
  ASSERT_TRUE(b2->connect(a2->address()));
  const size_t left = FabricSide::kReceives - used;
  ASSERT_EQ(a2->post({chain.data(), left}), left);
  wait_for(*b_, FabricSide::kReceives);
  std::vector<uint64_t> posted = ids(b_->completions);
  std::ranges::sort(posted);
  for (uint64_t i = 0; i < FabricSide::kReceives; ++i) EXPECT_EQ(posted[i], i);
}

TEST_P(FabricConformance, SaysWhatIsNoAddress) {
  connect();
  auto qp = a_->make_queue_pair(a_->options());
  EXPECT_FALSE(qp->connect(QueuePairAddress{}));
  EXPECT_FALSE(a_->qp->connect(b_->qp->address())) << "it is connected";
}

}  // namespace hat::engine
