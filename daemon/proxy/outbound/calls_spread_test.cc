// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/outbound/calls_spread_test.cc: each call of a client without a server of its own
// uses the peer with the fewest calls, and the streams to the other peers stay for later calls.
#include <gmock/gmock.h>

#include <map>

#include "daemon/proxy/outbound/fake_peers.h"

namespace hat {
namespace {

using engine::FrameKind;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::Ge;
using testing::Le;

class CallsSpread : public FakePeersTest {
 protected:
  CallsSpread() { clients_.push_back(node_.connect_client()); }

  // Lets the client make calls one after another. Returns how many calls each link carries.
  std::vector<int> calls_of(const FakeNode::Wire& client, int count) {
    std::vector<int> by_link(links_.size());
    for (int i = 0; i < count; ++i) {
      ++by_link[answered_call(client)];
      for (const auto& link : links_) {
        for (const FrameKind kind : kinds_in(link->written)) ++frames_[kind];
      }
    }
    return by_link;
  }
  // Lets the client make calls until one uses this link. Returns the call's header.
  engine::FrameHeader call_at(size_t link) {
    for (;;) {
      const size_t used = call(clients_[0]);
      const engine::FrameHeader header = header_of_call(used);
      if (used == link) return header;
      answer(used, header.stream, header.call);
    }
  }
  engine::FrameHeader header_of_call(size_t link) {
    const auto headers = headers_in(links_[link]->written);
    return *std::ranges::find(headers, FrameKind::kCall, &engine::FrameHeader::kind);
  }
  // Returns the number of the idle stream on this link. The client leaves it there.
  uint32_t idle_stream_at(size_t link) {
    const engine::FrameHeader header = call_at(link);
    answer(link, header.stream, header.call);
    while (answered_call(clients_[0]) == link) {
    }
    return header.stream;
  }

  uint64_t idle_streams() const { return node_.counters.idle_streams.value(); }

  std::map<FrameKind, int> frames_;
};

TEST_F(CallsSpread, EvenlyOverIdlePeers) {
  EXPECT_THAT(calls_of(clients_[0], 3'000), Each(AllOf(Ge(900), Le(1'100))));
}

TEST_F(CallsSpread, WithoutFramesToOpenAndEndStreams) {
  calls_of(clients_[0], 100);
  EXPECT_EQ(frames_[FrameKind::kOpen], 3);
  frames_.clear();
  calls_of(clients_[0], 300);
  EXPECT_EQ(frames_[FrameKind::kCall], 300);
  EXPECT_EQ(frames_.size(), 1u) << "only calls are sent";
}

TEST_F(CallsSpread, ByWeight) {
  NodeConfig next = configuration();
  next.peers[0].weight = 4;
  node_.set_node(next);
  const auto by_link = calls_of(clients_[0], 3'000);
  EXPECT_NEAR(by_link[0], 2'000, 150);
  EXPECT_NEAR(by_link[1], 500, 100);
  EXPECT_NEAR(by_link[2], 500, 100);
}

TEST_F(CallsSpread, OnlyInTheZone) {
  NodeConfig next = configuration();
  next.zone = next.peers[1].zone = next.peers[2].zone = "east";
  node_.set_node(next);
  calls_of(clients_[0], 1);  // it can be at host-b before
  EXPECT_THAT(calls_of(clients_[0], 300), ElementsAre(0, AllOf(Ge(120), Le(180)), testing::_));
  for (const size_t link : {1u, 2u}) end_link(link);
  EXPECT_THAT(calls_of(clients_[0], 3), ElementsAre(3, 0, 0)) << "no peer of the zone is left";
}

TEST_F(CallsSpread, NotToAPeerThatDoesNotAnswer) {
  calls_of(clients_[0], 1);
  clients_.push_back(node_.connect_client());
  const size_t busy = call(clients_[1]);
  EXPECT_EQ(calls_of(clients_[0], 300)[busy], 0);
}

TEST_F(CallsSpread, NotToAPeerWhoseLinkIsDown) {
  calls_of(clients_[0], 30);
  end_link(1);
  EXPECT_THAT(calls_of(clients_[0], 300), ElementsAre(AllOf(Ge(120), Le(180)), 0, testing::_));
}

TEST_F(CallsSpread, NotToAPeerThatIsEjected) {
  const engine::FrameHeader header = call_at(2);
  fail(2, header.stream, header.call, engine::Failure::kUpstreamUnreachable);
  EXPECT_EQ(calls_of(clients_[0], 300)[2], 0);
  node_.reactor.advance(Ejections::kFirst);
  EXPECT_GT(calls_of(clients_[0], 30)[2], 0) << "after the trial";
}

TEST_F(CallsSpread, NotIfTheClientHasAServerOfItsOwn) {
  const size_t first = call(clients_[0]);
  const engine::FrameHeader header = header_of_call(first);
  keep_at(first, header.stream);
  answer(first, header.stream, header.call);
  EXPECT_EQ(calls_of(clients_[0], 100)[first], 100);
}

TEST_F(CallsSpread, NotWhileAnEarlierCallIsNotAnswered) {
  calls_of(clients_[0], 30);
  const size_t first = call(clients_[0]);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(call(clients_[0]), first);
}

// After a call without an answer, a call that wants another peer waits until the peer has taken the
// kCancel frame.
TEST_F(CallsSpread, AfterADeadlineInOrder) {
  calls_of(clients_[0], 30);
  const size_t first = call(clients_[0]);
  bool has_asked = false;
  for (int i = 0; i < 30; ++i) {
    node_.reactor.advance(std::chrono::seconds(1));  // the timeout_ms of the function
    node_.reactor.end_iteration();
    for (const auto& link : links_) link->written.clear();
    node_.receive(clients_[0], strict_message(thrift::MessageType::kCall, "get", 1));
    node_.reactor.end_iteration();
    const auto headers = headers_in(links_[first]->written);
    ASSERT_EQ(headers.size(), 1u);
    if (headers[0].kind == FrameKind::kSync) {
      has_asked = true;
      node_.receive(links_[first], frame_bytes({.kind = FrameKind::kSynced,
                                                .stream = headers[0].stream,
                                                .call = headers[0].call}));
      node_.reactor.end_iteration();
    }
    const auto kinds = kinds_in(links_[first]->written);
    if (std::ranges::find(kinds, FrameKind::kCall) != kinds.end()) continue;  // chosen again
    EXPECT_THAT(kinds, ElementsAre(FrameKind::kSync, FrameKind::kEnd))
        << "not left idle, because the cancelled call may still wait there";
    EXPECT_THAT(kinds_in(links_[(first + 1) % 3]->written + links_[(first + 2) % 3]->written),
                testing::Contains(FrameKind::kCall));
    break;
  }
  EXPECT_TRUE(has_asked);
}

TEST_F(CallsSpread, AnIdleStreamServesAnotherClient) {
  calls_of(clients_[0], 30);
  frames_.clear();
  clients_.push_back(node_.connect_client());
  calls_of(clients_[1], 30);
  EXPECT_LE(frames_[FrameKind::kOpen], 1) << "both clients may use one peer at a time";
  EXPECT_EQ(frames_[FrameKind::kEnd], 0);
}

TEST_F(CallsSpread, AStreamKeepsItsCallNumbersAndCredit) {
  const uint32_t stream = idle_stream_at(0);
  node_.receive(links_[0],
                frame_bytes({.kind = FrameKind::kCredit, .stream = stream, .credit = 100}));
  const engine::FrameHeader next = call_at(0);
  EXPECT_EQ(next.stream, stream);
  EXPECT_GT(next.call, 1u);
}

TEST_F(CallsSpread, IdleStreamsAreCounted) {
  EXPECT_EQ(idle_streams(), 0u);
  calls_of(clients_[0], 100);
  EXPECT_EQ(idle_streams(), 2u) << "at all peers but the one of the last call";
  while (answered_call(clients_[0]) != 0) {
  }
  end_link(1);
  EXPECT_EQ(idle_streams(), 1u);
  node_.set_node(configuration());
  EXPECT_EQ(idle_streams(), 0u);
}

TEST_F(CallsSpread, APeerEndsAnIdleStream) {
  const uint32_t stream = idle_stream_at(0);
  const uint64_t before = idle_streams();
  const engine::FailMeta meta{engine::Failure::kUpstreamClosed, 0};
  node_.receive(links_[0],
                frame_bytes({.kind = FrameKind::kReset, .stream = stream},
                            std::string(reinterpret_cast<const char*>(&meta), sizeof meta)));
  EXPECT_EQ(idle_streams(), before - 1);
  EXPECT_NE(call_at(0).stream, stream);
  EXPECT_THAT(kinds_in(links_[0]->written), ElementsAre(FrameKind::kOpen, FrameKind::kCall));
}

TEST_F(CallsSpread, AStreamWithAnUnexpectedFrameIsReset) {
  const uint32_t stream = idle_stream_at(0);
  links_[0]->written.clear();
  keep_at(0, stream);
  node_.reactor.end_iteration();
  EXPECT_EQ(kinds_in(links_[0]->written), std::vector{FrameKind::kReset});
  EXPECT_NE(call_at(0).stream, stream);
}

TEST_F(CallsSpread, AReloadEndsIdleStreams) {
  idle_stream_at(0);
  for (const auto& link : links_) link->written.clear();
  node_.set_node(configuration());
  node_.reactor.end_iteration();
  EXPECT_EQ(kinds_in(links_[0]->written), std::vector{FrameKind::kEnd});
  EXPECT_THAT(calls_of(clients_[0], 300), Each(Ge(50)));
}

TEST_F(CallsSpread, ALinkThatLeavesEndsItsIdleStreams) {
  idle_stream_at(0);
  links_[0]->written.clear();
  node_.receive(links_[0], frame_bytes({.kind = FrameKind::kGoAway}));
  node_.reactor.end_iteration();
  EXPECT_THAT(kinds_in(links_[0]->written), ElementsAre(FrameKind::kEnd, FrameKind::kGoAway));
  EXPECT_THAT(calls_of(clients_[0], 30)[0], 0) << "its new link is not up";
}

TEST_F(CallsSpread, ALinkKeepsAtMostItsLimitOfIdleStreams) {
  constexpr size_t kClients = 4 * PeerLink::kIdleStreamsMax;
  while (clients_.size() < kClients) clients_.push_back(node_.connect_client());
  NodeConfig next = configuration();
  next.peers[0].weight = 1'000;
  node_.set_node(next);
  for (const auto& client : clients_) call(client);  // nearly all at host-b
  for (const size_t link : {0u, 1u, 2u}) {
    for (uint32_t stream = 1; stream <= kClients; ++stream) answer(link, stream);
  }
  next.peers[0].weight = 1;
  next.peers[1].weight = next.peers[2].weight = 1'000;
  node_.set_node(next);
  for (const auto& client : clients_) calls_of(client, 1);  // nearly none at host-b
  EXPECT_NEAR(frames_[FrameKind::kEnd], kClients - PeerLink::kIdleStreamsMax, 20);
}

}  // namespace
}  // namespace hat
