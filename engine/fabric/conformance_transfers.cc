// SPDX-License-Identifier: Apache-2.0
// engine/fabric/conformance_transfers.cc: tests that a fabric moves the right bytes, keeps the
// order of requests, and wakes a side that sleeps.
#include <gmock/gmock.h>
#include <poll.h>

#include <cstring>
#include <set>

#include "engine/fabric/conformance.h"

namespace hat::engine {
namespace {

using testing::ElementsAre;

bool readable(int fd, int wait_ms) {
  pollfd one{.fd = fd, .events = POLLIN};
  return poll(&one, 1, wait_ms) == 1;
}

}  // namespace

// --- Sends and receives ---

TEST_P(FabricConformance, SendsArriveInOrderInTheReceivesThatWerePostedFirst) {
  connect();
  constexpr size_t kMessages = 40;
  for (size_t i = 0; i < kMessages; ++i) {
    b_->receive(100 + i, i * 16, 16);
    a_->fill(i * 16, "message " + std::to_string(i) + "       ");
    const Segment from = a_->at(i * 16, 10);
    const WorkRequest send{.id = i, .segments = {&from, 1}};
    ASSERT_EQ(a_->qp->post({&send, 1}), 1u);
  }
  wait_for(*b_, kMessages);
  wait_for(*a_, kMessages);
  for (size_t i = 0; i < kMessages; ++i) {
    EXPECT_EQ(a_->completions[i].id, i);
    EXPECT_EQ(a_->completions[i].status, Status::kSuccess);
    EXPECT_EQ(b_->completions[i].id, 100 + i);
    EXPECT_EQ(b_->completions[i].opcode, Opcode::kReceive);
    EXPECT_EQ(b_->completions[i].bytes, 10u);
    EXPECT_FALSE(b_->completions[i].has_imm);
    EXPECT_EQ(b_->completions[i].queue_pair, b_->qp->number());
    EXPECT_EQ(b_->read(i * 16, 10), a_->read(i * 16, 10));
  }
}

TEST_P(FabricConformance, ASendGathersAndAReceiveScatters) {
  connect();
  a_->fill(0, "onetwothree");
  const std::array from{a_->at(0, 3), a_->at(3, 3), a_->at(6, 0), a_->at(6, 5)};
  const std::array to{b_->at(1000, 4), b_->at(2000, 2), b_->at(3000, 100)};
  const ReceiveRequest receive{.id = 9, .segments = to};
  ASSERT_EQ(b_->srq->post({&receive, 1}), 1u);
  EXPECT_EQ(status_of_one({.opcode = Opcode::kSendImm, .imm = 77, .segments = from}),
            Status::kSuccess);
  wait_for(*b_, 1);
  EXPECT_EQ(b_->completions[0].bytes, 11u);
  EXPECT_TRUE(b_->completions[0].has_imm);
  EXPECT_EQ(b_->completions[0].imm, 77u);
  EXPECT_EQ(b_->read(1000, 4) + b_->read(2000, 2) + b_->read(3000, 5), "onetwothree");
}

TEST_P(FabricConformance, AnEmptySendConsumesAReceive) {
  connect();
  b_->receive(5, 0, 16);
  EXPECT_EQ(status_of_one({.opcode = Opcode::kSendImm, .imm = 3}), Status::kSuccess);
  wait_for(*b_, 1);
  EXPECT_EQ(b_->completions[0].id, 5u);
  EXPECT_EQ(b_->completions[0].bytes, 0u);
  EXPECT_EQ(b_->completions[0].imm, 3u);
}

TEST_P(FabricConformance, InlinedBytesMayChangeAtOnce) {
  connect();
  b_->receive(1, 0, 64);
  std::string text = "inlined";
  const Segment from{reinterpret_cast<std::byte*>(text.data()), 7, 0};
  const std::array chain{WorkRequest{.opcode = Opcode::kWrite,
                                     .inlined = true,
                                     .segments = {&from, 1},
                                     .remote_address = b_->region->address() + 500,
                                     .rkey = b_->region->rkey()},
                         WorkRequest{.inlined = true, .segments = {&from, 1}}};
  ASSERT_EQ(a_->qp->post(chain), 2u);
  text = "changed";
  wait_for(*b_, 1);
  EXPECT_EQ(b_->read(0, 7), "inlined");
  EXPECT_EQ(b_->read(500, 7), "inlined");
}

TEST_P(FabricConformance, QueuePairsShareAReceiveQueue) {
  connect();
  auto a2 = a_->make_queue_pair(a_->options());
  auto b2 = b_->make_queue_pair(b_->options());
  ASSERT_TRUE(a2->connect(b2->address()));
  ASSERT_TRUE(b2->connect(a2->address()));
  for (uint64_t i = 0; i < 4; ++i) b_->receive(i, i * 8, 8);
  const Segment from = a_->at(0, 8);
  const WorkRequest send{.segments = {&from, 1}};
  for (size_t i = 1; i <= 4; ++i) {
    ASSERT_EQ((i % 2 == 0 ? a2.get() : a_->qp.get())->post({&send, 1}), 1u);
    wait_for(*b_, i);
  }
  EXPECT_THAT(ids(b_->completions), ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(b_->completions[0].queue_pair, b_->qp->number());
  EXPECT_EQ(b_->completions[1].queue_pair, b2->number());
}

// --- One-sided requests ---

TEST_P(FabricConformance, AWriteIsSeenOnceALaterSendHasArrived) {
  connect();
  a_->fill(0, "written");
  b_->receive(1, 100, 16);
  const std::array from{a_->at(0, 4), a_->at(4, 3)};
  const std::array chain{WorkRequest{.opcode = Opcode::kWrite,
                                     .signaled = false,
                                     .segments = from,
                                     .remote_address = b_->region->address() + 4096,
                                     .rkey = b_->region->rkey()},
                         WorkRequest{}};
  ASSERT_EQ(a_->qp->post(chain), 2u);
  wait_for(*b_, 1);
  EXPECT_EQ(b_->read(4096, 7), "written");
}

TEST_P(FabricConformance, AWriteWithImmediateTellsItsBytesAndConsumesAReceive) {
  connect();
  a_->fill(0, "written");
  b_->receive(6, 100, 0);
  const Segment from = a_->at(0, 7);
  EXPECT_EQ(status_of_one({.opcode = Opcode::kWriteImm,
                           .imm = 0xfeedbeef,
                           .segments = {&from, 1},
                           .remote_address = b_->region->address() + 4096,
                           .rkey = b_->region->rkey()}),
            Status::kSuccess);
  wait_for(*b_, 1);
  const Completion& arrived = b_->completions[0];
  EXPECT_EQ(arrived.id, 6u);
  EXPECT_EQ(arrived.opcode, Opcode::kReceiveWriteImm);
  EXPECT_EQ(arrived.imm, 0xfeedbeefu);
  EXPECT_EQ(arrived.bytes, 7u);
  EXPECT_EQ(b_->read(4096, 7), "written");
}

TEST_P(FabricConformance, AnEmptyWriteWithImmediateNeedsNoRegion) {
  connect();
  b_->receive(6, 100, 0);
  EXPECT_EQ(status_of_one({.opcode = Opcode::kWriteImm, .imm = 1}), Status::kSuccess);
  wait_for(*b_, 1);
  EXPECT_EQ(b_->completions[0].bytes, 0u);
}

TEST_P(FabricConformance, AReadScattersWhatIsThere) {
  connect();
  b_->fill(8192, "to be read");
  const std::array to{a_->at(0, 6), a_->at(100, 4)};
  EXPECT_EQ(status_of_one({.opcode = Opcode::kRead,
                           .segments = to,
                           .remote_address = b_->region->address() + 8192,
                           .rkey = b_->region->rkey()}),
            Status::kSuccess);
  EXPECT_EQ(a_->read(0, 6) + a_->read(100, 4), "to be read");
}

TEST_P(FabricConformance, AtomicsGiveWhatWasThereBefore) {
  connect();
  EXPECT_NE(a_->fabric->limits().atomics, Atomicity::kNone);
  const Segment result = a_->at(64, 8);
  WorkRequest work{.opcode = Opcode::kFetchAdd,
                   .segments = {&result, 1},
                   .remote_address = b_->region->address() + 8,
                   .rkey = b_->region->rkey(),
                   .compare_or_add = 5};
  EXPECT_EQ(status_of_one(work), Status::kSuccess);
  EXPECT_EQ(status_of_one(work), Status::kSuccess);
  EXPECT_EQ(a_->word(64), 5u);
  EXPECT_EQ(b_->word(8), 10u);
  work.opcode = Opcode::kCompareSwap;
  work.compare_or_add = 10;
  work.swap = 99;
  EXPECT_EQ(status_of_one(work), Status::kSuccess);
  EXPECT_EQ(a_->word(64), 10u);
  EXPECT_EQ(status_of_one(work), Status::kSuccess);
  EXPECT_EQ(a_->word(64), 99u) << "it did not compare, and so did not swap";
  EXPECT_EQ(b_->word(8), 99u);
}

TEST_P(FabricConformance, AtomicsKeepTheirPlaceInAChain) {
  connect();
  const uint64_t five = 5;
  std::memcpy(a_->region->bytes().data(), &five, sizeof five);
  const std::array local{a_->at(0, 8), a_->at(64, 8), a_->at(128, 8), a_->at(192, 8)};
  std::array<WorkRequest, 4> chain;
  for (size_t i = 0; i < chain.size(); ++i) {
    chain[i] = {.id = i,
                .signaled = i == 3,
                .segments = {&local[i], 1},
                .remote_address = b_->region->address() + 4096,
                .rkey = b_->region->rkey()};
  }
  chain[0].opcode = Opcode::kWrite;
  chain[1].opcode = Opcode::kFetchAdd;
  chain[1].compare_or_add = 2;
  chain[2].opcode = Opcode::kCompareSwap;
  chain[2].compare_or_add = 7;
  chain[2].swap = 9;
  chain[3].opcode = Opcode::kRead;
  ASSERT_EQ(a_->qp->post(chain), chain.size());
  wait_for(*a_, 1);
  EXPECT_EQ(a_->word(64), 5u);
  EXPECT_EQ(a_->word(128), 7u);
  EXPECT_EQ(a_->word(192), 9u);
}

// Tests that atomics of two hosts on the same words do not interleave, although both hosts have
// requests outstanding at the same time.
TEST_P(FabricConformance, AtomicsOfSeveralQueuePairsAreOneStepEach) {
  connect();
  FabricSide third(GetParam(), {});
  third.qp = third.make_queue_pair(third.options());
  const auto for_third = b_->make_queue_pair(b_->options());
  ASSERT_TRUE(third.qp->connect(for_third->address()));
  ASSERT_TRUE(for_third->connect(third.qp->address()));
  constexpr size_t kEach = 60;
  for (FabricSide* side : {a_.get(), &third}) {
    std::vector<Segment> results;
    for (size_t i = 0; i <= kEach; ++i) results.push_back(side->at(i * 8, 8));
    std::vector<WorkRequest> chain;
    for (size_t i = 0; i <= kEach; ++i) {
      chain.push_back({.id = i,
                       .opcode = i == kEach ? Opcode::kCompareSwap : Opcode::kFetchAdd,
                       .segments = {&results[i], 1},
                       .remote_address = b_->region->address() + (i == kEach ? 8192 : 4096),
                       .rkey = b_->region->rkey(),
                       .compare_or_add = i == kEach ? 0u : 1u,
                       .swap = 1});
    }
    ASSERT_EQ(side->qp->post(chain), chain.size());
  }
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (a_->completions.size() + third.completions.size() < 2 * (kEach + 1)) {
    iterate();
    third.iterate();
    ASSERT_LT(std::chrono::steady_clock::now(), end);
  }
  std::set<uint64_t> counts;
  for (FabricSide* side : {a_.get(), &third}) {
    for (size_t i = 0; i < kEach; ++i) counts.insert(side->word(i * 8));
  }
  EXPECT_EQ(counts.size(), 2 * kEach);
  EXPECT_EQ(*counts.rbegin(), 2 * kEach - 1);
  EXPECT_EQ(b_->word(4096), 2 * kEach);
  EXPECT_EQ(a_->word(kEach * 8) + third.word(kEach * 8), 1u) << "one of the two swapped";
}

TEST_P(FabricConformance, ALargeMessageArrivesWhole) {
  connect();
  const size_t half = FabricSide::kMemoryBytes / 2;
  std::string bulk(half, '\0');
  for (size_t i = 0; i < bulk.size(); ++i) bulk[i] = static_cast<char>(i * 31 >> 3);
  a_->fill(0, bulk);
  b_->receive(1, half, half);
  const Segment from = a_->at(0, half);
  const std::array chain{WorkRequest{.opcode = Opcode::kWrite,
                                     .segments = {&from, 1},
                                     .remote_address = b_->region->address(),
                                     .rkey = b_->region->rkey()},
                         WorkRequest{.segments = {&from, 1}}};
  ASSERT_EQ(a_->qp->post(chain), 2u);
  wait_for(*b_, 1);
  wait_for(*a_, 2);
  EXPECT_EQ(b_->completions[0].bytes, half);
  EXPECT_TRUE(b_->read(0, half) == bulk);
  EXPECT_TRUE(b_->read(half, half) == bulk);
}

// --- Many requests ---

TEST_P(FabricConformance, AChainKeepsItsOrderAndUnsignaledRequestsAreSilent) {
  connect();
  constexpr size_t kChain = 64;
  std::vector<Segment> from;
  std::vector<WorkRequest> chain;
  for (size_t i = 0; i < kChain; ++i) {
    b_->receive(i, i * 8, 8);
    a_->fill(i * 8, std::to_string(1000 + i));
    from.push_back(a_->at(i * 8, 4));
  }
  for (size_t i = 0; i < kChain; ++i) {
    chain.push_back({.id = i, .signaled = i % 16 == 15, .segments = {&from[i], 1}});
  }
  ASSERT_EQ(a_->qp->post(chain), kChain);
  wait_for(*b_, kChain);
  wait_for(*a_, 4);
  EXPECT_THAT(ids(a_->completions), ElementsAre(15, 31, 47, 63));
  for (size_t i = 0; i < kChain; ++i) EXPECT_EQ(b_->read(i * 8, 4), std::to_string(1000 + i));
}

TEST_P(FabricConformance, TakesNoMoreThanItsSendEntries) {
  connect();
  const Segment from = a_->at(0, 8);
  const std::vector<WorkRequest> chain(200, WorkRequest{.segments = {&from, 1}});
  EXPECT_EQ(a_->qp->post(chain), 128u) << "nobody receives, so none is done";
  for (uint64_t i = 0; i < 128; ++i) b_->receive(i, 0, 8);
  wait_for(*a_, 128);
  EXPECT_EQ(a_->qp->post({chain.data(), 1}), 1u);
}

TEST_P(FabricConformance, UnsignaledRequestsKeepTheirEntriesUntilALaterOneTells) {
  connect();
  const Segment from = a_->at(0, 8);
  std::vector<WorkRequest> chain(128, WorkRequest{.opcode = Opcode::kWrite,
                                                  .signaled = false,
                                                  .segments = {&from, 1},
                                                  .remote_address = b_->region->address(),
                                                  .rkey = b_->region->rkey()});
  chain[100].signaled = true;
  ASSERT_EQ(a_->qp->post(chain), 128u);
  EXPECT_EQ(a_->qp->post({chain.data(), 1}), 0u);
  wait_for(*a_, 1);
  EXPECT_EQ(a_->qp->post(chain), 101u) << "as many as the signaled one told of";
}

TEST_P(FabricConformance, AReceiveQueueTakesNoMoreThanItsEntries) {
  connect();
  const Segment to = b_->at(0, 8);
  const std::vector<ReceiveRequest> many(FabricSide::kReceives + 1,
                                         ReceiveRequest{.segments = {&to, 1}});
  EXPECT_EQ(b_->srq->post(many), FabricSide::kReceives);
}

TEST_P(FabricConformance, ACompletionQueueGrowsAndLosesNothing) {
  constexpr uint32_t kFew = 16, kMany = 120;
  connect();
  const auto cq = std::move(*a_->fabric->create_completion_queue(kFew));
  a_->qp = a_->make_queue_pair({.send_cq = *cq, .recv_cq = *a_->cq, .srq = *a_->srq});
  b_->qp = b_->make_queue_pair(b_->options());
  ASSERT_TRUE(a_->qp->connect(b_->qp->address()));
  ASSERT_TRUE(b_->qp->connect(a_->qp->address()));
  for (uint64_t i = 0; i < kMany; ++i) b_->receive(i, 0, 8);
  const Segment from = a_->at(0, 8);
  const auto send = [&](uint64_t first, uint64_t end) {
    for (uint64_t i = first; i < end; ++i) {
      const WorkRequest work{.id = i, .opcode = Opcode::kSend, .segments = {&from, 1}};
      ASSERT_EQ(a_->qp->post({&work, 1}), 1u);
    }
  };
  send(0, kFew);
  wait_for(*b_, kFew);  // the completions of the sends may wait in `cq`
  const auto resized = cq->resize(kMany);
  ASSERT_TRUE(resized) << resized.error().message;
  send(kFew, kMany);
  wait_for(*b_, kMany);
  std::vector<Completion> all;
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (all.size() < kMany && std::chrono::steady_clock::now() < end) {
    std::array<Completion, kFew> some;
    const size_t count = cq->poll(some);
    all.insert(all.end(), some.begin(), some.begin() + count);
  }
  ASSERT_EQ(all.size(), kMany);
  for (uint64_t i = 0; i < kMany; ++i) {
    EXPECT_EQ(all[i].id, i);
    EXPECT_EQ(all[i].status, Status::kSuccess);
  }
  a_->qp.reset();  // destroyed before its completion queue
}

TEST_P(FabricConformance, BothSidesTalkForLong) {
  connect();
  constexpr uint64_t kRounds = 2000;
  uint64_t next_a = 0;
  uint64_t next_b = 0;
  for (FabricSide* side : {a_.get(), b_.get()}) {
    for (uint64_t i = 0; i < 32; ++i) side->receive(i, 1024 + i * 8, 8);
  }
  const auto say = [](FabricSide& side, FabricSide& other, uint64_t number) {
    std::memcpy(side.region->bytes().data() + number % 64 * 8, &number, sizeof number);
    const Segment from = side.at(number % 64 * 8, 8);
    const WorkRequest work{.opcode = Opcode::kWriteImm,
                           .signaled = number % 16 == 0,
                           .imm = static_cast<uint32_t>(number),
                           .segments = {&from, 1},
                           .remote_address = other.region->address() + 8192 + number % 64 * 8,
                           .rkey = other.region->rkey()};
    ASSERT_EQ(side.qp->post({&work, 1}), 1u);
  };
  say(*a_, *b_, 0);
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (next_a < kRounds && std::chrono::steady_clock::now() < end) {
    iterate();
    for (auto [side, other, next] :
         {std::tuple(b_.get(), a_.get(), &next_b), std::tuple(a_.get(), b_.get(), &next_a)}) {
      for (const Completion& done : std::exchange(side->completions, {})) {
        ASSERT_EQ(done.status, Status::kSuccess);
        if (done.opcode != Opcode::kReceiveWriteImm) continue;
        uint64_t number = 0;
        std::memcpy(&number, side->region->bytes().data() + 8192 + *next % 64 * 8, sizeof number);
        ASSERT_EQ(number, *next);
        ASSERT_EQ(done.imm, *next);
        ++*next;
        side->receive(done.id, 1024, 8);
        say(*side, *other, side == b_.get() ? number : number + 1);
      }
    }
  }
  EXPECT_GE(next_a, kRounds);
}

// --- Sleeping ---

TEST_P(FabricConformance, AnArmedQueueWakesItsSleeperOnce) {
  connect();
  iterate();
  b_->receive(1, 0, 8);
  b_->receive(2, 0, 8);
  const Segment from = a_->at(0, 8);
  const WorkRequest send{.segments = {&from, 1}};
  EXPECT_FALSE(readable(b_->cq->event_fd(), 0));
  b_->cq->arm(false);
  EXPECT_FALSE(readable(b_->cq->event_fd(), 10));
  ASSERT_EQ(a_->qp->post({&send, 1}), 1u);
  EXPECT_TRUE(readable(b_->cq->event_fd(), 10'000));
  b_->cq->take_events();
  EXPECT_FALSE(readable(b_->cq->event_fd(), 0));
  wait_for(*b_, 1);
  ASSERT_EQ(a_->qp->post({&send, 1}), 1u);
  wait_for(*b_, 2);
  EXPECT_FALSE(readable(b_->cq->event_fd(), 10)) << "it was not armed again";
}

TEST_P(FabricConformance, AQueueArmedForSolicitedCompletionsSleepsThroughOthers) {
  connect();
  iterate();
  b_->receive(1, 0, 8);
  b_->receive(2, 0, 8);
  const Segment from = a_->at(0, 8);
  b_->cq->arm(true);
  const WorkRequest plain{.segments = {&from, 1}};
  ASSERT_EQ(a_->qp->post({&plain, 1}), 1u);
  EXPECT_FALSE(readable(b_->cq->event_fd(), 20));
  const WorkRequest solicited{.solicited = true, .segments = {&from, 1}};
  ASSERT_EQ(a_->qp->post({&solicited, 1}), 1u);
  EXPECT_TRUE(readable(b_->cq->event_fd(), 10'000));
}

TEST_P(FabricConformance, AReceiveThatIsPostedLateWakesItsSleeper) {
  connect();
  iterate();
  const Segment from = a_->at(0, 8);
  const WorkRequest send{.segments = {&from, 1}};
  ASSERT_EQ(a_->qp->post({&send, 1}), 1u);
  for (int i = 0; i < 10; ++i) iterate();  // b_ has no receive yet
  b_->cq->arm(false);
  iterate();
  b_->receive(1, 0, 8);
  EXPECT_TRUE(readable(b_->cq->event_fd(), 10'000));
  wait_for(*b_, 1);
}

TEST_P(FabricConformance, WhoWaitsForItsOwnRequestIsWokenToo) {
  connect();
  iterate();
  const Segment from = a_->at(0, 8);
  const WorkRequest write{.opcode = Opcode::kWrite,
                          .segments = {&from, 1},
                          .remote_address = b_->region->address(),
                          .rkey = b_->region->rkey()};
  a_->cq->arm(false);
  ASSERT_EQ(a_->qp->post({&write, 1}), 1u);
  EXPECT_TRUE(readable(a_->cq->event_fd(), 10'000));
}

}  // namespace hat::engine
