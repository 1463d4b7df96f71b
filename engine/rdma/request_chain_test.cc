// SPDX-License-Identifier: Apache-2.0
#include "engine/rdma/request_chain.h"

#include <gtest/gtest.h>

namespace hat::engine {
namespace {

constexpr uint32_t kSendEntries = 64;

// A queue pair that accepts only the first `accepts` requests of each chain.
class FakeQueuePair final : public QueuePair {
 public:
  uint32_t number() const override { return 1; }
  QueuePairAddress address() const override { return {}; }
  Result<void> connect(const QueuePairAddress&) override { return {}; }
  QueuePairState state() const override { return QueuePairState::kConnected; }
  size_t post(std::span<const WorkRequest> chain) override {
    lengths.push_back(chain.size());
    for (const WorkRequest& work : chain) signaled += work.signaled ? 1 : 0;
    return std::min(accepts, chain.size());
  }
  void fail() override {}
  bool settled() const override { return true; }

  size_t accepts = RequestChain::kLengthMax;
  std::vector<size_t> lengths;
  uint32_t signaled = 0;
};

TEST(RequestChain, SignalsEveryQuarterOfTheSendEntries) {
  RequestChain chain(kSendEntries, 0);
  FakeQueuePair pair;
  for (uint32_t i = 0; i < kSendEntries; ++i) {
    if (chain.is_full()) {
      EXPECT_TRUE(chain.post_to(pair));
    }
    chain.append(Opcode::kSend, {}, {});
  }
  EXPECT_TRUE(chain.post_to(pair));
  EXPECT_EQ(pair.lengths, (std::vector<size_t>{32, 32}));
  EXPECT_EQ(pair.signaled, 4u);
  EXPECT_EQ(chain.entries_free(), 0u);
  for (uint32_t done = 16; done <= kSendEntries; done += 16) {
    const auto signaled = chain.complete();
    ASSERT_TRUE(signaled);
    EXPECT_EQ(signaled->posted, done);
    EXPECT_EQ(chain.entries_free(), done);
  }
  EXPECT_FALSE(chain.complete());
}

TEST(RequestChain, ReturnsTheWaiterOfACompletion) {
  RequestChain chain(kSendEntries, 0);
  FakeQueuePair pair;
  chain.append(Opcode::kWrite, {}, {});
  chain.append(Opcode::kRead, {}, {});
  chain.await(RequestChain::Waiter::kLeg, Leg::kFetch0, 7);
  EXPECT_TRUE(chain.post_to(pair));
  EXPECT_TRUE(chain.has_waiters());
  const auto signaled = chain.complete();
  ASSERT_TRUE(signaled);
  EXPECT_EQ(signaled->waiter, RequestChain::Waiter::kLeg);
  EXPECT_EQ(signaled->leg, Leg::kFetch0);
  EXPECT_EQ(signaled->cookie, 7u);
  EXPECT_EQ(chain.done(), 2u);
  EXPECT_FALSE(chain.has_waiters());
}

TEST(RequestChain, KeepsARequestThatIsAppendedAfterARefusal) {
  RequestChain chain(kSendEntries, 0);
  FakeQueuePair pair;
  pair.accepts = 1;
  for (uint32_t i = 0; i < RequestChain::kLengthMax; ++i) chain.append(Opcode::kSend, {}, {});
  EXPECT_FALSE(chain.post_to(pair));
  WorkRequest& work = chain.append(Opcode::kWriteImm, {}, {});
  work.imm = 5;
  EXPECT_EQ(work.opcode, Opcode::kWriteImm);
  EXPECT_EQ(chain.posted(), RequestChain::kLengthMax + 1);
}

TEST(RequestChainDeathTest, HasBoundsForItsLengthAndItsEntries) {
  FakeQueuePair pair;
  RequestChain longest(kSendEntries, 0);
  for (uint32_t i = 0; i < RequestChain::kLengthMax; ++i) longest.append(Opcode::kSend, {}, {});
  EXPECT_DEATH(longest.append(Opcode::kSend, {}, {}), "a chain has 32 requests at most");
  RequestChain exhausted(4, 0);
  for (int i = 0; i < 4; ++i) exhausted.append(Opcode::kSend, {}, {});
  exhausted.post_to(pair);
  EXPECT_DEATH(exhausted.append(Opcode::kSend, {}, {}), "no send entry is free");
}

TEST(RequestChainDeathTest, GivesARequestOneWaiterAndTwoSegments) {
  RequestChain chain(kSendEntries, 0);
  chain.append(Opcode::kRead, {}, {});
  EXPECT_DEATH(chain.gather({}), "a second segment follows the first");
  chain.await(RequestChain::Waiter::kProbe, {}, 0);
  EXPECT_DEATH(chain.await(RequestChain::Waiter::kLeg, Leg::kFetch0, 1),
               "a request has one waiter");
}

}  // namespace
}  // namespace hat::engine
