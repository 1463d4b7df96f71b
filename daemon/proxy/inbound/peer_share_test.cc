// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/inbound/peer_share_test.cc: the counts that limit peers, with planted violations.
#include "daemon/proxy/inbound/peer_share.h"

#include <gtest/gtest.h>

#include <thread>

#include "daemon/proxy/fake_node.h"

namespace hat {
namespace {

TEST(PeerShares, GiveEachPeerAQuarterAtMost) {
  PeerShares shares;
  const auto one = shares.of("host-a"), other = shares.of("host-b");
  EXPECT_EQ(shares.of("host-a"), one);
  constexpr uint64_t kMax = 8;
  shares.add(&PeerShare::links, *one, 2);
  EXPECT_FALSE(shares.has_space(&PeerShare::links, *one, kMax));
  EXPECT_TRUE(shares.has_space(&PeerShare::links, *other, kMax));
  EXPECT_TRUE(shares.has_space(&PeerShare::streams, *one, kMax));
  shares.add(&PeerShare::links, *one, -2);
  EXPECT_TRUE(shares.has_space(&PeerShare::links, *one, kMax));
}

// The end of a link does not end the domain of its lanes at once. If the peer got another budget
// with each new link, it could use up more than its part.
TEST(PeerShares, KeepTheirBudgetWhileADomainCountsAgainstIt) {
  using engine::RdmaBudget;
  PeerShares shares;
  auto share = shares.of("host-a");
  share->rdma.emplace("all links", RdmaBudget::Amounts{100});
  std::optional<RdmaBudget::Charge> domain(
      std::in_place, std::shared_ptr<RdmaBudget>(share, &*share->rdma), engine::Resource::kMemory);
  ASSERT_TRUE(domain->add(70));
  share.reset();
  EXPECT_EQ(shares.of("host-a")->rdma->used(engine::Resource::kMemory), 70u);
  domain.reset();
  EXPECT_FALSE(shares.of("host-a")->rdma) << "nothing of the peer is left";
}

TEST(PeerSharesDeathTest, NeverCountLessThanNothing) {
  PeerShares shares;
  const auto share = shares.of("host-a");
  EXPECT_DEATH(shares.add(&PeerShare::streams, *share, -1), "less than nothing is counted");
}

TEST(PeerSharesDeathTest, OutliveEverythingThatTheyCount) {
  EXPECT_DEATH(
      {
        PeerShare share;
        share.links = 1;
      },
      "still counted: 1 links");
}

TEST(WorkerDeathTest, NeverCountsLessThanNothingAsBuffered) {
  FakeNode node;
  EXPECT_DEATH(node.worker->buffered(-1), "less than nothing is buffered");
}

TEST(WorkerDeathTest, TakesLinksOnlyInItsLoop) {
  FakeNode node;
  std::thread([&] { node.reactor.loop_thread().enter(); }).join();
  EXPECT_DEATH(node.connect_link(), "only the thread that runs this event loop");
  node.reactor.loop_thread().leave();
}

}  // namespace
}  // namespace hat
