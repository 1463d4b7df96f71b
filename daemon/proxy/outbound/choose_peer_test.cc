// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/outbound/choose_peer_test.cc: which of several peers a worker gives to client
// connections.
#include <gmock/gmock.h>

#include <algorithm>

#include "daemon/proxy/outbound/fake_peers.h"
#include "daemon/proxy/worker_status.h"

namespace hat {
namespace {

using engine::FrameKind;
using testing::ElementsAre;

class ChoosePeerTest : public FakePeersTest {};

TEST_F(ChoosePeerTest, IdlePeersTakeTurns) {
  EXPECT_THAT(calls_that_are_answered(9), ElementsAre(3, 3, 3));
}

TEST_F(ChoosePeerTest, APeerThatDoesNotAnswerGetsNoMoreClientsWhileOthersAnswer) {
  const size_t slow = call();
  ++streams_[slow];
  std::vector<int> by_link = calls_that_are_answered(60);
  EXPECT_EQ(by_link[slow], 0);
  answer(slow, 1);
  by_link = calls_that_are_answered(9);
  EXPECT_THAT(by_link, ElementsAre(3, 3, 3));
}

TEST_F(ChoosePeerTest, TheCallsOfAClientThatLeavesNoLongerCount) {
  const size_t slow = call();
  ++streams_[slow];
  clients_.back()->error = ECONNRESET;
  clients_.back()->events->on_readable();
  node_.reactor.end_iteration();
  std::vector<int> by_link = calls_that_are_answered(8);
  ++by_link[slow];
  EXPECT_THAT(by_link, ElementsAre(3, 3, 3));
}

TEST_F(ChoosePeerTest, WeightsGiveTurns) {
  NodeConfig next = configuration();
  next.peers[0].weight = 4;
  node_.set_node(next);
  EXPECT_THAT(calls_that_are_answered(18), ElementsAre(12, 3, 3));
}

TEST_F(ChoosePeerTest, PeersOfTheOwnZoneComeFirst) {
  NodeConfig next = configuration();
  next.zone = "east";
  next.peers[1].zone = next.peers[2].zone = "east";
  next.peers[0].zone = "west";
  node_.set_node(next);
  EXPECT_THAT(calls_that_are_answered(6), ElementsAre(0, 3, 3));
  for (const size_t link : {1u, 2u}) end_link(link);
  EXPECT_EQ(call(), 0u) << "no peer of the zone is left";
}

TEST_F(ChoosePeerTest, APeerWithoutAServerGetsNoNewClientsForASecond) {
  const size_t failing = call();
  fail(failing, ++streams_[failing], 1, engine::Failure::kUpstreamUnreachable);
  EXPECT_EQ(calls_that_are_answered(20)[failing], 0);
  node_.reactor.advance(Ejections::kFirst);
  EXPECT_GT(calls_that_are_answered(6)[failing], 0);
}

TEST_F(ChoosePeerTest, OneClientTriesAPeerThatHasFailed) {
  const size_t failing = call();
  fail(failing, ++streams_[failing], 1, engine::Failure::kUpstreamUnreachable);
  node_.reactor.advance(Ejections::kFirst);
  for (size_t link = call(); link != failing; link = call()) answer(link, ++streams_[link]);
  ++streams_[failing];
  EXPECT_EQ(calls_that_are_answered(20)[failing], 0) << "the trial has not ended";
  fail(failing, streams_[failing], 1, engine::Failure::kUpstreamUnreachable);
  node_.reactor.advance(Ejections::kFirst);
  EXPECT_EQ(calls_that_are_answered(20)[failing], 0) << "now it is avoided for longer";
  EXPECT_EQ(ejections(failing), 2u);
}

TEST_F(ChoosePeerTest, CallsLeaveAPeerAfterFailuresInARow) {
  const size_t failing = call();
  const FakeNode::Wire client = clients_.back();
  fail(failing, ++streams_[failing], 1, engine::Failure::kUpstreamClosed);
  for (uint64_t number = 2; number <= Ejections::kFailuresInARow; ++number) {
    ASSERT_EQ(call(client), failing);
    fail(failing, streams_[failing], number, engine::Failure::kUpstreamClosed);
  }
  EXPECT_EQ(ejections(failing), 1u);
  const size_t other = call(client);
  EXPECT_NE(other, failing);
  EXPECT_THAT(kinds_in(links_[failing]->written), testing::Contains(FrameKind::kEnd));
  answer(other, ++streams_[other]);
  EXPECT_EQ(calls_that_are_answered(20)[failing], 0);
}

TEST_F(ChoosePeerTest, AReplyShowsThatThePeerServesCalls) {
  const size_t peer = call();
  const FakeNode::Wire client = clients_.back();
  keep_at(peer, ++streams_[peer]);
  answer(peer, streams_[peer]);
  for (uint64_t number = 2; number < 20; ++number) {
    ASSERT_EQ(call(client), peer);
    if (number % Ejections::kFailuresInARow == 0) {
      answer(peer, streams_[peer], number);
    } else {
      fail(peer, streams_[peer], number, engine::Failure::kUpstreamClosed);
    }
  }
  EXPECT_EQ(ejections(peer), 0u);
}

TEST_F(ChoosePeerTest, CallsWithoutAnAnswerEjectThePeer) {
  const size_t peer = call();
  const FakeNode::Wire client = clients_.back();
  answer(peer, ++streams_[peer]);
  NodeConfig next = configuration();
  next.zone = next.peers[peer].zone = "east";
  node_.set_node(next);  // so that no call leaves this peer before
  for (uint32_t i = 0; i < Ejections::kFailuresInARow; ++i) {
    ASSERT_EQ(call(client), peer);
    node_.reactor.advance(std::chrono::seconds(1));  // the timeout_ms of the function
    node_.reactor.end_iteration();
  }
  EXPECT_EQ(ejections(peer), 1u);
  // The next call waits until the peer has taken the earlier ones.
  for (const auto& link : links_) link->written.clear();
  node_.receive(client, strict_message(thrift::MessageType::kCall, "get", 1));
  node_.reactor.end_iteration();
  EXPECT_THAT(kinds_in(links_[peer]->written), ElementsAre(FrameKind::kSync));
  node_.receive(links_[peer],
                frame_bytes({.kind = FrameKind::kSynced, .stream = streams_[peer], .call = 1}));
  node_.reactor.end_iteration();
  EXPECT_THAT(kinds_in(links_[(peer + 1) % 3]->written + links_[(peer + 2) % 3]->written),
              testing::Contains(FrameKind::kCall));
}

TEST_F(ChoosePeerTest, CallsThatFailTogetherDoNotEjectThePeer) {
  const size_t peer = call();
  ++streams_[peer];
  for (uint64_t number = 2; number <= 20; ++number) ASSERT_EQ(call(clients_.back()), peer);
  node_.reactor.advance(std::chrono::milliseconds(1));
  for (uint64_t number = 1; number <= 20; ++number) {
    fail(peer, streams_[peer], number, engine::Failure::kUpstreamClosed);
  }
  EXPECT_EQ(ejections(peer), 0u);
}

// A client of an ejected peer finds no other peer but one whose ejection has ended.
TEST_F(ChoosePeerTest, AClientOfAnEjectedPeerTriesAnotherOne) {
  const size_t first = call();
  const FakeNode::Wire client = clients_.back();
  fail(first, ++streams_[first], 1, engine::Failure::kUpstreamClosed);
  size_t second = call();
  for (; second == first; second = call()) answer(first, ++streams_[first]);
  fail(second, ++streams_[second], 1, engine::Failure::kUpstreamUnreachable);
  const size_t last = 3 - first - second;
  links_[last]->error = ECONNRESET;
  links_[last]->events->on_readable();
  node_.reactor.advance(Ejections::kFirst);
  ASSERT_EQ(call(client), first);
  fail(first, 1, 2, engine::Failure::kUpstreamUnreachable);
  ASSERT_EQ(call(client), second);
  answer(second, ++streams_[second]);
  EXPECT_EQ(call(client), second) << "it does not take its own trial for an ejection";
}

TEST_F(ChoosePeerTest, APeerThatRefusesStreamsGetsNoNewClientsForASecond) {
  const size_t failing = call();
  const engine::FailMeta meta{engine::Failure::kUnknownService, 0};
  node_.receive(links_[failing],
                frame_bytes({.kind = FrameKind::kReset, .stream = 1},
                            std::string(reinterpret_cast<const char*>(&meta), sizeof meta)));
  ++streams_[failing];
  EXPECT_EQ(calls_that_are_answered(20)[failing], 0);
}

// The peers take 10 ms for a call, and host-d more from a time on.
class ASlowPeer : public ChoosePeerTest {
 protected:
  static constexpr size_t kSlow = 2;

  // Lets new clients make calls one after another. Returns how many calls each link carries.
  std::vector<int> new_clients(int count) {
    std::vector<int> by_link(links_.size());
    for (int i = 0; i < count; ++i) {
      const size_t link = call();
      node_.reactor.advance(link == kSlow ? of_slow_ : std::chrono::milliseconds(10));
      answer(link, ++streams_[link], 1, link == kSlow ? outcome_ : CallOutcome::kSuccess);
      ++by_link[link];
    }
    return by_link;
  }
  // Lets a client, which has made one call in this stream on `link`, make calls until one of them
  // uses another link. Returns how many calls that takes, at most 30.
  int calls_until_it_leaves(const FakeNode::Wire& client, size_t link, uint32_t stream) {
    for (int count = 1; count < 30; ++count) {
      const size_t next = call(client);
      node_.reactor.advance(std::chrono::milliseconds(10));
      if (next != link) {
        answer(next, ++streams_[next]);
        return count;
      }
      answer(link, stream, static_cast<uint64_t>(count) + 1);
    }
    return 30;
  }

  Duration of_slow_ = std::chrono::milliseconds(10);
  CallOutcome outcome_ = CallOutcome::kSuccess;
};

TEST_F(ASlowPeer, GetsNoNewClients) {
  EXPECT_THAT(new_clients(60), ElementsAre(20, 20, 20));
  of_slow_ = std::chrono::milliseconds(100);
  EXPECT_LT(new_clients(90)[kSlow], 20);
  EXPECT_THAT(new_clients(60), ElementsAre(30, 30, 0));
}

TEST_F(ASlowPeer, IsReportedWithHowSlowItIs) {
  const auto slow_links = [this] {
    std::vector<bool> all;
    for (const LinkStatus& link : node_.worker->link_status()) all.push_back(link.is_slow);
    return all;
  };
  new_clients(60);
  EXPECT_THAT(node_.worker->avoided_peers(), testing::IsEmpty());
  EXPECT_THAT(slow_links(), ElementsAre(false, false, false));
  of_slow_ = std::chrono::milliseconds(100);
  new_clients(90);
  EXPECT_THAT(slow_links(), ElementsAre(false, false, true));
  const auto avoided = node_.worker->peer_status().shown[kSlow].avoided;
  ASSERT_EQ(avoided.size(), 1u);
  EXPECT_EQ(avoided[0].peer, kNames[kSlow]);
  const auto* const slow = std::get_if<SlowStatus>(&avoided[0].why);
  ASSERT_NE(slow, nullptr);
  EXPECT_GE(slow->times, 2);
  EXPECT_LE(slow->times, 11);
  EXPECT_GT(slow->until_trial, Duration::zero());
  EXPECT_LE(slow->until_trial, PeerSpeeds::kTrialPause);
  NodeConfig next = configuration();
  next.endpoints[0].peers = {kNames[kSlow]};
  node_.set_node(next);
  EXPECT_THAT(node_.worker->avoided_peers(), testing::IsEmpty()) << "there is no other peer";
}

TEST_F(ASlowPeer, GetsClientsAgainAfterItHasRecovered) {
  new_clients(60);
  of_slow_ = std::chrono::milliseconds(100);
  new_clients(90);
  EXPECT_LE(new_clients(1'000)[kSlow], 2) << "10 s, with a trial in 5 s";
  of_slow_ = std::chrono::milliseconds(10);
  new_clients(600);
  EXPECT_THAT(new_clients(60), ElementsAre(20, 20, 20));
}

TEST_F(ASlowPeer, KeepsClientsWithoutAnotherPeerInTheZone) {
  NodeConfig next = configuration();
  next.zone = next.peers[kSlow].zone = "east";
  new_clients(60);
  of_slow_ = std::chrono::milliseconds(100);
  new_clients(90);
  node_.set_node(next);
  EXPECT_EQ(new_clients(10)[kSlow], 10);
}

TEST_F(ASlowPeer, IsLeftByAClientWithoutAServerOfItsOwn) {
  new_clients(60);
  of_slow_ = std::chrono::milliseconds(100);
  size_t link = 0;
  while (link != kSlow) {
    link = call();
    answer(link, ++streams_[link]);
  }
  const FakeNode::Wire client = clients_.back();
  const uint32_t stream = streams_[kSlow];
  new_clients(90);
  EXPECT_EQ(calls_until_it_leaves(client, kSlow, stream), 1);
}

TEST_F(ASlowPeer, KeepsAClientWithAServerOfItsOwn) {
  new_clients(60);
  size_t link = 0;
  while (link != kSlow) {
    link = call();
    answer(link, ++streams_[link]);
  }
  const FakeNode::Wire client = clients_.back();
  const uint32_t stream = streams_[kSlow];
  keep_at(kSlow, stream);
  of_slow_ = std::chrono::milliseconds(100);
  new_clients(90);
  EXPECT_EQ(calls_until_it_leaves(client, kSlow, stream), 30);
}

TEST_F(ASlowPeer, IsTriedByAClientOfAnotherPeer) {
  new_clients(60);
  const size_t fast = call();
  answer(fast, ++streams_[fast]);
  const FakeNode::Wire client = clients_.back();
  ASSERT_NE(fast, kSlow);
  of_slow_ = std::chrono::milliseconds(100);
  new_clients(300);
  node_.reactor.advance(PeerSpeeds::kTrialPause);
  EXPECT_EQ(call(client), kSlow);
  answer(kSlow, ++streams_[kSlow]);
}

TEST_F(ASlowPeer, InAnotherZoneGetsNoCalls) {
  new_clients(60);
  of_slow_ = std::chrono::milliseconds(100);
  new_clients(300);
  NodeConfig next = configuration();
  next.zone = next.peers[0].zone = next.peers[1].zone = "east";
  next.peers[kSlow].zone = "west";
  node_.set_node(next);
  node_.reactor.advance(PeerSpeeds::kTrialPause);
  for (int i = 0; i < 10; ++i) {
    clients_.push_back(node_.connect_client());
    for (int number = 0; number < 30; ++number) {
      EXPECT_NE(answered_call(clients_.back()), kSlow);
      node_.reactor.advance(std::chrono::milliseconds(10));
    }
  }
}

TEST_F(ASlowPeer, GetsCallsWhenTheOthersHaveNoRoom) {
  new_clients(60);
  of_slow_ = std::chrono::milliseconds(100);
  new_clients(90);
  std::vector<int> by_link(links_.size());
  for (int i = 0; i < 200; ++i) ++by_link[call()];
  EXPECT_GE(by_link[kSlow], 3) << "without answers, about 100 calls wait at each of the others";
  EXPECT_LE(by_link[kSlow], 20);
}

TEST_F(ASlowPeer, IsACandidateIfTheOthersOfItsRankHaveNoRoom) {
  const auto candidacies = [this] {
    std::vector<Candidacy> all;
    for (const WayToPeer& way : node_.worker->ways_of("Kv", "get").shown) {
      all.push_back(way.candidacy);
    }
    return all;
  };
  new_clients(60);
  EXPECT_THAT(candidacies(), ElementsAre(Candidacy::kYes, Candidacy::kYes, Candidacy::kYes));
  of_slow_ = std::chrono::milliseconds(100);
  new_clients(90);
  EXPECT_THAT(candidacies(), ElementsAre(Candidacy::kYes, Candidacy::kYes, Candidacy::kOverflow));
  NodeConfig next = configuration();
  next.zone = next.peers[kSlow].zone = "east";
  node_.set_node(next);
  EXPECT_THAT(candidacies(), ElementsAre(Candidacy::kNo, Candidacy::kNo, Candidacy::kYes))
      << "no other peer is in the zone";
}

// Two of four peers are slow, and the links to the others end. Eight calls wait for each slow peer,
// and then only one for host-e, and seven for host-d. The client whose call host-d has answered
// makes more calls.
TEST_F(ChoosePeerTest, AClientOfASlowPeerUsesAnotherSlowOneWithFewerCalls) {
  add_peer("host-e");
  for (int i = 0; i < 240; ++i) {
    const size_t link = call();
    node_.reactor.advance(std::chrono::milliseconds(i >= 80 && link >= 2 ? 100 : 10));
    answer(link, ++streams_[link]);
  }
  for (const size_t link : {0u, 1u}) end_link(link);
  const uint32_t first[] = {streams_[2] + 1, streams_[3] + 1};
  FakeNode::Wire client;
  for (int i = 0; i < 16; ++i) {
    if (const size_t link = call(); ++streams_[link] == first[0] && link == 2) {
      client = clients_.back();
    }
  }
  ASSERT_THAT(streams_, ElementsAre(testing::_, testing::_, first[0] + 7, first[1] + 7));
  const auto pass = [this] { node_.reactor.advance(std::chrono::milliseconds(40)); };
  pass();
  for (uint32_t i = 0; i < 7; ++i) answer(3, first[1] + i);
  answer(2, first[0]);
  for (const WayToPeer& way : node_.worker->ways_of("Kv", "get").shown) {
    EXPECT_EQ(way.is_slow, way.peer == "host-d" || way.peer == "host-e") << way.peer;
  }
  size_t link = 2;
  for (uint64_t number = 2; link == 2 && number < 18; ++number) {
    link = call(client);
    pass();
    answer(link, link == 2 ? first[0] : ++streams_[link], link == 2 ? number : 1);
  }
  EXPECT_EQ(link, 3u);
}

TEST_F(ASlowPeer, IsNotMeasuredByExceptions) {
  NodeConfig next = configuration();
  next.endpoints[0].peers.erase(next.endpoints[0].peers.begin());
  node_.set_node(next);
  new_clients(60);
  outcome_ = CallOutcome::kApplicationException;
  of_slow_ = std::chrono::microseconds(1);
  EXPECT_THAT(new_clients(60), ElementsAre(0, 30, 30)) << "a peer that fails fast";
}

}  // namespace
}  // namespace hat
